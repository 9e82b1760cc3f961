// Finds out which part of a parallel job this process is.
//
//   const RankInfo ranks = ranks_from_environment();
//   options.rank = ranks.rank;
//   options.world_size = ranks.world_size;
//   options.local_ranks = ranks.local_ranks;
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

// A plain value.
struct RankInfo {
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  std::uint32_t local_ranks = 1;  // ranks on this machine, this one included
  std::string found_by = "none";  // "torchrun", "srun step", "mpi", "none"
};

// Reads the environment variables of torchrun, else those of an srun step, else those of MPI; without any of
// them the job has one rank. It reads SLURM_STEP_NUM_TASKS and not SLURM_NTASKS, because a Slurm allocation
// alone (sbatch without srun) is a single process. Never fails. May be called from any thread as long as none
// changes the environment.
RankInfo ranks_from_environment();

}  // namespace penstock
