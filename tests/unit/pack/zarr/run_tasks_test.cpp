#include "pack/zarr/run_tasks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "penstock/interruption.h"

namespace penstock {
namespace {

constexpr auto kGoOn = [] { return true; };

TEST(RunTasks, every_task_runs_once) {
  std::vector<std::atomic<int>> runs(1000);
  ASSERT_TRUE(run_tasks(4, runs.size(), [&](unsigned, std::uint64_t task) -> Status {
    ++runs[task];
    return {};
  }, kGoOn));
  for (const auto& count : runs) EXPECT_EQ(count, 1);
}

TEST(RunTasks, the_first_failure_is_returned_and_ends_the_run) {
  std::atomic<std::uint64_t> ran{0};
  const auto done = run_tasks(2, 1'000'000, [&](unsigned, std::uint64_t task) -> Status {
    ++ran;
    if (task == 10) return fail(ErrorCode::kCorrupt, "bad");
    return {};
  }, kGoOn);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().message, "bad");
  EXPECT_LT(ran, 1'000'000u);
}

TEST(RunTasks, stopping_interrupts_what_the_threads_wait_for) {
  const auto done = run_tasks(2, 2, [](unsigned, std::uint64_t) -> Status {
    while (!Interruption::is_requested()) std::this_thread::yield();
    return {};
  }, [] { return false; });
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, ErrorCode::kStopped);
}

TEST(RunTasks, every_task_that_was_claimed_runs_also_after_a_stop) {
  // So no gap is left before a task that waits for all earlier ones.
  for (int round = 0; round < 50; ++round) {
    std::vector<std::atomic<int>> runs(100'000);
    std::atomic<std::uint64_t> last{0};
    const auto done = run_tasks(4, runs.size(), [&](unsigned, std::uint64_t task) -> Status {
      ++runs[task];
      for (std::uint64_t known = last; known < task && !last.compare_exchange_weak(known, task);) {
      }
      if (task == 1000) return fail(ErrorCode::kCorrupt, "bad");
      return {};
    }, kGoOn);
    ASSERT_FALSE(done.has_value());
    for (std::uint64_t task = 0; task <= last; ++task) ASSERT_EQ(runs[task], 1) << task;
  }
}

TEST(RunTasks, memory_that_the_standard_library_lacks_is_an_error) {
  const auto done = run_tasks(1, 1, [](unsigned, std::uint64_t) -> Status { throw std::bad_alloc(); }, kGoOn);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, ErrorCode::kNoMemory);
}

}  // namespace
}  // namespace penstock
