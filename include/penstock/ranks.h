// Which part of a parallel job this process is.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

struct RankInfo {
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  std::uint32_t local_ranks = 1;  // ranks that share this machine
  std::string found_by = "none";  // "torchrun", "srun step", "mpi", "none"
};

// From the environment: torchrun's variables, else an srun step, else MPI. A Slurm allocation
// alone (sbatch without srun) is one process, hence SLURM_STEP_NUM_TASKS and not SLURM_NTASKS.
RankInfo ranks_from_environment();

}  // namespace penstock
