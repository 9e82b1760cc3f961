#include "base/machine.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <thread>

#include "penstock/loader.h"

namespace penstock {
namespace {

TEST(Machine, has_at_least_a_core_and_some_memory) {
  EXPECT_GE(usable_cpus(), 1u);
  EXPECT_LE(usable_cpus(), 65'536u);
  EXPECT_GT(free_memory_bytes(), std::uint64_t{1} << 20);
}

class Ranks : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
          "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_NTASKS", "OMPI_COMM_WORLD_RANK",
          "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"})
      unsetenv(name);
  }
  void TearDown() override { SetUp(); }
  static void set(const char* name, const char* value) { setenv(name, value, 1); }
};

TEST_F(Ranks, none_is_one_process) {
  const RankInfo info = ranks_from_environment();
  EXPECT_EQ(info.rank, 0u);
  EXPECT_EQ(info.world_size, 1u);
  EXPECT_EQ(info.local_ranks, 1u);
  EXPECT_EQ(info.found_by, "none");
}

TEST_F(Ranks, torchrun_goes_first) {
  set("RANK", "5");
  set("WORLD_SIZE", "8");
  set("LOCAL_WORLD_SIZE", "4");
  set("SLURM_PROCID", "1");
  set("SLURM_STEP_NUM_TASKS", "2");
  const RankInfo info = ranks_from_environment();
  EXPECT_EQ(info.rank, 5u);
  EXPECT_EQ(info.world_size, 8u);
  EXPECT_EQ(info.local_ranks, 4u);
  EXPECT_EQ(info.found_by, "torchrun");
}

TEST_F(Ranks, srun_step_with_uneven_nodes) {
  set("SLURM_PROCID", "6");
  set("SLURM_STEP_NUM_TASKS", "7");
  set("SLURM_STEP_TASKS_PER_NODE", "4(x1),3");
  const RankInfo info = ranks_from_environment();
  EXPECT_EQ(info.rank, 6u);
  EXPECT_EQ(info.local_ranks, 4u);
  EXPECT_EQ(info.found_by, "srun step");
}

TEST_F(Ranks, an_allocation_without_a_step_is_one_process) {
  set("SLURM_PROCID", "0");
  set("SLURM_NTASKS", "16");
  EXPECT_EQ(ranks_from_environment().world_size, 1u);
}

TEST_F(Ranks, both_kinds_of_mpi) {
  set("PMI_RANK", "1");
  set("PMI_SIZE", "2");
  EXPECT_EQ(ranks_from_environment().rank, 1u);
  set("OMPI_COMM_WORLD_RANK", "2");
  set("OMPI_COMM_WORLD_SIZE", "3");
  EXPECT_EQ(ranks_from_environment().rank, 2u);
  EXPECT_EQ(ranks_from_environment().found_by, "mpi");
}

TEST_F(Ranks, nonsense_is_not_believed) {
  const struct {
    const char *rank, *world;
  } rows[] = {{"3", "3"}, {"-1", "4"}, {"x", "4"}, {"1", "0"}, {"", ""}, {"1", "99999999999"}};
  for (const auto& row : rows) {
    set("RANK", row.rank);
    set("WORLD_SIZE", row.world);
    EXPECT_EQ(ranks_from_environment().world_size, 1u) << row.rank << " of " << row.world;
  }
}

TEST_F(Ranks, local_ranks_never_exceed_the_world) {
  set("RANK", "0");
  set("WORLD_SIZE", "2");
  set("LOCAL_WORLD_SIZE", "8");
  EXPECT_EQ(ranks_from_environment().local_ranks, 2u);
}

}  // namespace
}  // namespace penstock
