// SQLite's way: run a scenario, count its operations, then fail each of them in turn, once and for
// good, under every policy. Whatever happens, the books balance, errors say where, nothing hangs,
// and the memory budget holds.
#include <gtest/gtest.h>

#include "support/fault_store.h"
#include "support/run_loader.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

enum class Data : std::uint8_t { kPictures, kArrays };

LoaderOptions sweep_options(OnError policy, unsigned threads, Data data) {
  LoaderOptions options;
  options.batch_size = 4;
  options.threads = threads;
  options.memory_bytes = 6 << 20;
  options.on_error = policy;
  options.max_skip = 1;
  options.shuffle = ShuffleMode::kFull;
  if (data == Data::kPictures)
    options.transforms = {{"image", {RandomResizedCrop{8, 8}, RandomHorizontalFlip{}}, ""}};
  return options;
}

void check_error(const Error& error, const std::string& what) {
  EXPECT_FALSE(error.where.uri.empty()) << what << ": " << error.describe();
  EXPECT_GE(error.where.offset, 0) << what << ": " << error.describe();
  EXPECT_GE(error.where.length, 0) << what << ": " << error.describe();
  EXPECT_GE(error.where.sample, 0) << what << ": " << error.describe();
}

// One loader, two epochs, one plan of faults. Returns the operations that happened.
std::uint64_t run_scenario(const std::shared_ptr<MemoryStore>& clean, Data data, const FaultPlan& plan,
                           OnError policy, unsigned threads) {
  const std::string what = "operation " + std::to_string(plan.fail_at) + (plan.persistent ? " on" : " once") +
                           ", fault " + std::to_string(static_cast<int>(plan.fault)) + ", policy " +
                           std::to_string(static_cast<int>(policy)) + ", threads " + std::to_string(threads);
  const Watchdog watchdog(what, std::chrono::seconds(30));
  const auto store = std::make_shared<FaultStore>(clean, plan);
  const auto source = folder_source(store, *clean);
  if (!source) {
    EXPECT_FALSE(source.error().where.uri.empty()) << what;
    return store->operations();
  }
  auto loader = Loader::open(*source, sweep_options(policy, threads, data));
  if (!loader) {
    EXPECT_GT(store->faults(), 0u) << what << ": " << loader.error().describe();
    check_error(loader.error(), what);
    return store->operations();
  }
  const std::uint64_t before = store->faults();
  for (int epoch = 0; epoch < 2; ++epoch) {
    const EpochRun run = run_epoch(**loader);
    const Counts counts = run.stats.epochs.empty() ? Counts{} : run.stats.epochs.back().counts;
    EXPECT_EQ(counts.planned, counts.delivered + counts.skipped + counts.failed) << what;
    if (run.error) {
      check_error(*run.error, what);
      EXPECT_GT(store->faults(), 0u) << what;
    } else {
      EXPECT_EQ(counts.planned, (*source)->size()) << what;
      if (policy == OnError::kReplace) {
        EXPECT_EQ(counts.delivered, counts.planned) << what;
      }
    }
    if (policy == OnError::kSkip) {
      EXPECT_FALSE(run.error) << what << ": " << run.error->describe();
    }
  }
  const LoaderStats stats = (*loader)->stats();
  EXPECT_EQ(stats.counts.planned, stats.counts.delivered + stats.counts.skipped + stats.counts.failed)
      << what;
  EXPECT_LE(stats.memory_peak, stats.memory_budget) << what;
  for (const Error& error : stats.errors) check_error(error, what);
  if (store->faults() == 0) {
    EXPECT_TRUE(stats.errors.empty()) << what;
  }
  // A fault that met an epoch must not pass in silence. (A changed version on a read shows nowhere.)
  if (store->faults() > before && plan.fault != Fault::kChange) {
    EXPECT_FALSE(stats.errors.empty()) << what;
  }
  if (policy == OnError::kSkip && !plan.persistent) {
    EXPECT_LE(stats.counts.skipped, 1u) << what;
  }
  return store->operations();
}

void sweep(Data data, int samples, const std::vector<unsigned>& threads, const std::vector<Fault>& faults) {
  const auto clean = data == Data::kPictures ? store_of_pictures(samples) : store_of_arrays(samples);
  std::uint64_t points = 0;
  for (const unsigned count : threads)
    for (const OnError policy : {OnError::kRaise, OnError::kSkip, OnError::kReplace}) {
      const std::uint64_t operations = run_scenario(clean, data, {}, policy, count);
      ASSERT_GT(operations, static_cast<std::uint64_t>(samples));
      for (const Fault fault : faults)
        for (const bool persistent : {false, true})
          for (std::uint64_t k = 1; k <= operations; ++k, ++points) {
            run_scenario(clean, data, {k, persistent, fault}, policy, count);
            ASSERT_FALSE(testing::Test::HasFailure()) << "stopped at the first bad point";
          }
    }
  std::printf("%llu fault points\n", static_cast<unsigned long long>(points));
}

TEST(FaultSweep, pictures_with_failing_operations) {
  sweep(Data::kPictures, 7, {2}, {Fault::kEio, Fault::kTruncate});
}
TEST(FaultSweep, arrays_with_failing_operations) {
  sweep(Data::kArrays, 7, {2}, {Fault::kEio, Fault::kChange});
}

TEST(SlowFaultSweep, pictures_with_every_fault_and_thread_count) {
  sweep(Data::kPictures, 13, {1, 2, 4},
        {Fault::kEio, Fault::kTruncate, Fault::kChange, Fault::kMissing, Fault::kNoAccess});
}
TEST(SlowFaultSweep, arrays_with_every_fault_and_thread_count) {
  sweep(Data::kArrays, 13, {1, 2, 4},
        {Fault::kEio, Fault::kTruncate, Fault::kChange, Fault::kMissing, Fault::kNoAccess});
}

}  // namespace
}  // namespace penstock
