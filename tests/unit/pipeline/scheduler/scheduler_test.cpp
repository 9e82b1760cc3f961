// The scheduler with makers that are test doubles: some make samples at once, others hand them to a thread that
// finishes them out of order and late.
#include "pipeline/scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <set>
#include <thread>

#include "order/epoch_order.h"
#include "support/layout_fields.h"
#include "support/make_npy.h"
#include "support/temporary_folder.h"

namespace penstock {
namespace {

using Outcome = SampleMaker::Outcome;

void write_sample(MutableBytes slot, std::uint64_t sample) {
  const auto number = static_cast<std::int64_t>(sample);
  std::memcpy(slot.data(), &number, sizeof number);
}

MutableBytes slot_of(const BatchTarget& batch, std::uint64_t index) {
  return batch.layout.slot(batch.contents.block.data(), 0, index);
}

Error bad_sample(std::uint64_t sample) {
  return {ErrorCode::kCorrupt, "bad", {"somewhere", -1, -1, static_cast<std::int64_t>(sample)}, false};
}

// A device queue in small: finishes what it was given in random order, each a little later.
class LateQueue {
 public:
  ~LateQueue() {
    worker_.request_stop();
    worker_.join();
    EXPECT_TRUE(waiting_.empty()) << "a scheduler must not end before its deferred samples";
  }

  struct Work {
    DeferredSample sample;
    MutableBytes slot;
    std::uint64_t number = 0;
    bool fails = false;
  };
  void push(Work work) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    most_ = std::max(most_, waiting_.size());
  }
  void hold(bool is_held) { is_held_ = is_held; }
  std::size_t most() const {
    const std::lock_guard lock(mutex_);
    return most_;
  }
  std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

 private:
  void run(const std::stop_token& stop) {
    std::mt19937 random(7);
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      Work work;
      {
        const std::lock_guard lock(mutex_);
        if (waiting_.empty()) continue;
        const std::size_t chosen = random() % waiting_.size();
        if (is_held_ && !waiting_[chosen].sample.revoked().stop_requested()) continue;
        work = std::move(waiting_[chosen]);
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(chosen));
      }
      if (work.sample.revoked().stop_requested()) {
        work.sample.complete(fail(ErrorCode::kStopped, "revoked"));
      } else if (work.fails) {
        work.sample.complete(std::unexpected(bad_sample(work.number)));
      } else {
        write_sample(work.slot, work.number);
        work.sample.complete({});
      }
    }
  }

  mutable std::mutex mutex_;
  std::vector<Work> waiting_;
  std::size_t most_ = 0;
  std::atomic<bool> is_held_ = false;
  std::jthread worker_{[this](const std::stop_token& stop) { run(stop); }};
};

struct Behaviour {
  std::set<std::uint64_t> bad;        // samples that fail
  std::set<std::uint64_t> abandoned;  // deferred samples that nobody completes
  LateQueue* queue = nullptr;         // nullptr: samples are made at once
  std::atomic<int> at_work = 0, most_at_work = 0, made_here = 0;
};

class DoubleMaker final : public SampleMaker {
 public:
  explicit DoubleMaker(Behaviour& behaviour) : behaviour_(behaviour) {}

  void turn_to(const SharedReads&) override {}
  Result<Outcome> make(const SampleTask& task, const BatchTarget& batch, std::uint64_t index,
                       Deferral& deferral) override {
    const int now = ++behaviour_.at_work;
    for (int most = behaviour_.most_at_work; most < now && !behaviour_.most_at_work.compare_exchange_weak(most, now);) {
    }
    auto made = make_sample(task, batch, index, deferral);
    --behaviour_.at_work;
    return made;
  }

 private:
  Result<Outcome> make_sample(const SampleTask& task, const BatchTarget& batch, std::uint64_t index,
                              Deferral& deferral) {
    const bool fails = behaviour_.bad.contains(task.sample);
    if (behaviour_.queue != nullptr) {
      if (DeferredSample later = deferral.defer(sizeof(std::int64_t))) {
        EXPECT_EQ(later.memory().size(), sizeof(std::int64_t));
        if (!behaviour_.abandoned.contains(task.sample))
          behaviour_.queue->push({std::move(later), slot_of(batch, index), task.sample, fails});
        return Outcome::kDeferred;
      }
      ++behaviour_.made_here;
    }
    if (fails) return std::unexpected(bad_sample(task.sample));
    write_sample(slot_of(batch, index), task.sample);
    return Outcome::kMade;
  }

  Behaviour& behaviour_;
};

struct BenchOptions {
  OnError on_error = OnError::kRaise;
  unsigned threads = 3;
  std::uint64_t prefetch = 4;
  std::uint64_t in_flight_bytes = 0;
  std::uint64_t samples = 64, batch_size = 8;
};

// A scheduler with all that it needs. Samples are their own numbers.
class Bench {
 public:
  explicit Bench(Behaviour& behaviour, const BenchOptions& options = {})
      : options_(options),
        source_(make_source()),
        layout_({field("number", DType::kInt64, {})}, options.batch_size),
        ledger_(std::make_shared<Ledger>(1 << 20)),
        pool_(std::make_shared<BatchPool>(ledger_, layout_.batch_bytes(), 16 * layout_.batch_bytes())),
        variable_(std::make_shared<VariableMemory>(ledger_, 0)),
        reads_({*source_, {}, ledger_, nullptr, std::nullopt, nullptr, nullptr, std::nullopt}) {
    plan_.source = source_;
    Scheduler::Setup setup{.plan = plan_,
                           .layout = layout_,
                           .pool = pool_,
                           .variable_memory = variable_,
                           .ledger = ledger_,
                           .reads = reads_};
    setup.in_flight_bytes = options.in_flight_bytes;
    setup.threads = options.threads;
    setup.prefetch = options.prefetch;
    setup.policy = {options.on_error, 5, 0};
    setup.make_maker = [&behaviour](ScratchBudget&, WorkerCounters&) -> std::unique_ptr<SampleMaker> {
      return std::make_unique<DoubleMaker>(behaviour);
    };
    scheduler_ = std::make_unique<Scheduler>(setup);
  }

  std::shared_ptr<RunningEpoch> start() {
    OrderSpec order;
    order.samples = options_.samples;
    RankSlice slice;
    slice.epoch_size = options_.samples;
    slice.batch_size = options_.batch_size;
    auto run = scheduler_->start({0, make_epoch_order(order, 0), slice});
    EXPECT_TRUE(run.has_value());
    return *run;
  }

  struct Delivered {
    std::vector<std::int64_t> numbers;
    std::uint64_t batches = 0, failed = 0, replaced = 0;
    std::vector<std::int64_t> bad;  // samples of errors
  };
  Delivered deliver_all(RunningEpoch& run) {
    Delivered all;
    while (true) {
      FinishedBatch batch;
      const auto got = scheduler_->next(run, batch, std::chrono::seconds(60));
      if (got == Scheduler::Wait::kEnd) return all;
      EXPECT_EQ(got, Scheduler::Wait::kBatch);
      if (got != Scheduler::Wait::kBatch) return all;
      ++all.batches;
      all.failed += batch.failed ? 1 : 0;
      all.replaced += batch.replaced;
      for (const Error& error : batch.errors) all.bad.push_back(error.where.sample);
      for (std::uint64_t i = 0; i < batch.kept && !batch.failed; ++i) {
        std::int64_t number = 0;
        std::memcpy(&number, layout_.slot(batch.block, 0, i).data(), sizeof number);
        all.numbers.push_back(number);
      }
    }
  }

  Scheduler& scheduler() { return *scheduler_; }
  const Ledger& ledger() const { return *ledger_; }
  void end() { scheduler_.reset(); }

 private:
  SourcePtr make_source() {
    std::vector<std::byte> file = npy_with_header(npy_dict("<i8", {4}));
    file.resize(file.size() + 4 * sizeof(std::int64_t));
    OpenOptions options;
    options.keep_index = false;
    return *open_source(folder_.write("numbers.npy", file), options);
  }

  const BenchOptions options_;
  TemporaryFolder folder_;
  SamplePlan plan_;
  SourcePtr source_;
  SlotLayout layout_;
  std::shared_ptr<Ledger> ledger_;
  std::shared_ptr<BatchPool> pool_;
  std::shared_ptr<VariableMemory> variable_;
  ReadDivision reads_;
  std::unique_ptr<Scheduler> scheduler_;
};

std::vector<std::int64_t> numbers_below(std::int64_t end) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(end));
  for (std::int64_t i = 0; i < end; ++i) numbers[static_cast<std::size_t>(i)] = i;
  return numbers;
}

TEST(SchedulerTest, delivers_every_sample_once_and_in_order) {
  Behaviour behaviour;
  Bench bench(behaviour);
  const auto run = bench.start();
  const auto all = bench.deliver_all(*run);
  EXPECT_EQ(all.numbers, numbers_below(64));
  EXPECT_EQ(all.batches, 8u);
}

TEST(SchedulerTest, samples_that_finish_late_and_out_of_order_are_delivered_in_order) {
  LateQueue queue;
  Behaviour behaviour;
  behaviour.queue = &queue;
  Bench bench(behaviour, {.in_flight_bytes = 1 << 16, .samples = 400});
  for (int epoch = 0; epoch < 3; ++epoch) {
    const auto run = bench.start();
    EXPECT_EQ(bench.deliver_all(*run).numbers, numbers_below(400));
  }
  EXPECT_EQ(behaviour.made_here, 0);
}

TEST(SchedulerTest, the_memory_of_samples_in_flight_is_bounded) {
  LateQueue queue;
  Behaviour behaviour;
  behaviour.queue = &queue;
  Bench bench(behaviour, {.in_flight_bytes = 5 * sizeof(std::int64_t), .samples = 400});
  const auto run = bench.start();
  EXPECT_EQ(bench.deliver_all(*run).numbers, numbers_below(400));
  EXPECT_LE(queue.most(), 5u);
  EXPECT_GT(behaviour.made_here, 0) << "samples for which there is no memory are made by the worker";
}

TEST(SchedulerTest, errors_of_deferred_samples_fail_the_batch_or_are_skipped) {
  for (const OnError on_error : {OnError::kRaise, OnError::kSkip}) {
    for (const bool is_deferred : {false, true}) {
      LateQueue queue;
      Behaviour behaviour;
      behaviour.queue = is_deferred ? &queue : nullptr;
      behaviour.bad = {3, 21, 22};
      Bench bench(behaviour, {.on_error = on_error, .in_flight_bytes = 1 << 16});
      const auto run = bench.start();
      const auto all = bench.deliver_all(*run);
      EXPECT_EQ(all.batches, 8u);
      EXPECT_EQ(all.failed, on_error == OnError::kRaise ? 2u : 0u);
      EXPECT_THAT(all.bad, testing::UnorderedElementsAre(3, 21, 22));
      if (on_error == OnError::kRaise) continue;
      auto expected = numbers_below(64);
      std::erase_if(expected, [](std::int64_t n) { return n == 3 || n == 21 || n == 22; });
      EXPECT_EQ(all.numbers, expected);
    }
  }
}

TEST(SchedulerTest, deferred_samples_are_replaced_by_the_same_stand_ins) {
  std::vector<std::vector<std::int64_t>> delivered;
  for (const bool is_deferred : {false, true}) {
    LateQueue queue;
    Behaviour behaviour;
    behaviour.queue = is_deferred ? &queue : nullptr;
    for (std::uint64_t sample = 0; sample < 64; sample += 3) behaviour.bad.insert(sample);  // also among stand-ins
    Bench bench(behaviour, {.on_error = OnError::kReplace, .in_flight_bytes = 1 << 16});
    const auto run = bench.start();
    const auto all = bench.deliver_all(*run);
    EXPECT_EQ(all.replaced, 22u);
    EXPECT_EQ(all.failed, 0u);
    EXPECT_THAT(all.numbers, testing::Each(testing::Truly([](std::int64_t n) { return n % 3 != 0; })));
    delivered.push_back(all.numbers);
  }
  EXPECT_EQ(delivered[0], delivered[1]);
}

TEST(SchedulerTest, a_deferred_sample_that_is_dropped_fails_its_batch) {
  LateQueue queue;
  Behaviour behaviour;
  behaviour.queue = &queue;
  behaviour.abandoned = {10};
  Bench bench(behaviour, {.in_flight_bytes = 1 << 16});
  const auto run = bench.start();
  const auto all = bench.deliver_all(*run);
  EXPECT_EQ(all.batches, 8u);
  EXPECT_EQ(all.failed, 1u);
}

TEST(SchedulerTest, cancelling_revokes_deferred_samples_and_gives_their_memory_back) {
  LateQueue queue;
  queue.hold(true);  // nothing is finished unless it is revoked
  Behaviour behaviour;
  behaviour.queue = &queue;
  Bench bench(behaviour, {.in_flight_bytes = 1 << 16});
  const auto run = bench.start();
  while (queue.waiting() < 16) std::this_thread::yield();
  bench.scheduler().cancel(*run);
  FinishedBatch batch;
  EXPECT_EQ(bench.scheduler().next(*run, batch, std::chrono::milliseconds(0)), Scheduler::Wait::kCancelled);
  while (queue.waiting() > 0) std::this_thread::yield();
  queue.hold(false);
  const auto next = bench.start();  // it finds memory
  EXPECT_EQ(bench.deliver_all(*next).numbers, numbers_below(64));
}

TEST(SchedulerTest, ending_waits_for_deferred_samples) {
  LateQueue queue;
  queue.hold(true);
  Behaviour behaviour;
  behaviour.queue = &queue;
  Bench bench(behaviour, {.in_flight_bytes = 1 << 16});
  const auto run = bench.start();
  while (queue.waiting() < 16) std::this_thread::yield();
  bench.end();
  EXPECT_EQ(queue.waiting(), 0u);
}

TEST(SchedulerTest, several_epochs_with_deferred_samples_go_on_side_by_side) {
  LateQueue queue;
  Behaviour behaviour;
  behaviour.queue = &queue;
  Bench bench(behaviour, {.in_flight_bytes = 1 << 16, .samples = 160});
  const auto first = bench.start();
  const auto second = bench.start();
  Bench::Delivered of_second;
  std::jthread other([&] { of_second = bench.deliver_all(*second); });
  EXPECT_EQ(bench.deliver_all(*first).numbers, numbers_below(160));
  other.join();
  EXPECT_EQ(of_second.numbers, numbers_below(160));
}

TEST(SchedulerTest, threads_and_prefetch_can_change_while_an_epoch_runs) {
  LateQueue queue;
  Behaviour behaviour;
  Bench bench(behaviour, {.threads = 4, .prefetch = 6, .samples = 4000});
  const auto clamped = bench.scheduler().set_knobs({100, 100});
  EXPECT_EQ(clamped.threads, 4u);
  EXPECT_EQ(clamped.prefetch, 6u);
  EXPECT_EQ(bench.scheduler().set_knobs({0, 0}).threads, 1u);
  EXPECT_EQ(bench.scheduler().knobs().prefetch, 1u);
  const auto run = bench.start();
  FinishedBatch batch;
  ASSERT_EQ(bench.scheduler().next(*run, batch, std::chrono::seconds(60)), Scheduler::Wait::kBatch);
  EXPECT_EQ(behaviour.most_at_work, 1) << "one worker at a time";
  EXPECT_LE(bench.scheduler().ready_batches(), 1u);
  bench.scheduler().set_knobs({4, 6});
  const auto all = bench.deliver_all(*run);
  EXPECT_EQ(all.batches, 499u);
  EXPECT_EQ(all.numbers.back(), 3999);
}

}  // namespace
}  // namespace penstock
