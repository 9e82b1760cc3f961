// Several epochs of one loader at a time.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <regex>
#include <thread>

#include "penstock/loader.h"
#include "support/run_loader.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

using Numbers = std::vector<std::int64_t>;
using EpochPtr = std::unique_ptr<Epoch>;

LoaderOptions options(std::uint64_t batch, unsigned threads = 3) {
  LoaderOptions o;
  o.batch_size = batch;
  o.threads = threads;
  o.memory_bytes = 16 << 20;
  o.shuffle = ShuffleMode::kFull;
  return o;
}

std::unique_ptr<Loader> open(const SourcePtr& source, const LoaderOptions& o) {
  auto loader = Loader::open(source, o);
  EXPECT_TRUE(loader) << loader.error().describe();
  return loader ? std::move(*loader) : nullptr;
}

EpochPtr start(Loader& loader) {
  auto epoch = loader.start_epoch();
  EXPECT_TRUE(epoch) << epoch.error().describe();
  return epoch ? std::move(*epoch) : nullptr;
}

// False at the end.
bool take(Epoch& epoch, Numbers& out) {
  auto batch = epoch.next();
  EXPECT_TRUE(batch) << batch.error().describe();
  if (!batch || !*batch) return false;
  const auto* values = static_cast<const std::int64_t*>((*batch)->fields[0].data);
  out.insert(out.end(), values, values + (*batch)->size);
  return true;
}

Numbers take_all(Epoch& epoch) {
  Numbers numbers;
  while (take(epoch, numbers)) {
  }
  return numbers;
}

Numbers alone(const SourcePtr& source, const LoaderOptions& o, std::uint64_t epoch) {
  auto loader = open(source, o);
  loader->set_epoch(epoch);
  return take_all(*start(*loader));
}

void expect_balanced(const Counts& counts) {
  EXPECT_EQ(counts.planned, counts.delivered + counts.skipped + counts.failed);
}

// A step that takes a while.
FieldTransform slowly(std::chrono::milliseconds time) {
  return {"array",
          {Map::of_array([time](const ArraySpec& spec, const void* data) -> Result<OwnedArray> {
            std::this_thread::sleep_for(time);
            auto copy = std::make_shared<std::int64_t>();
            std::memcpy(copy.get(), data, 8);
            return OwnedArray{spec, copy};
          })},
          ""};
}

TEST(Epochs, taken_in_turn_each_delivers_its_own_order) {
  const Watchdog watchdog("two epochs in turn");
  const SourcePtr source = source_of_numbers(203);
  auto loader = open(source, options(10));
  const EpochPtr first = start(*loader), second = start(*loader);
  EXPECT_EQ(first->number(), 0u);
  EXPECT_EQ(second->number(), 1u);
  Numbers a, b;
  while (take(*first, a)) EXPECT_TRUE(take(*second, b));
  EXPECT_FALSE(take(*second, b));
  EXPECT_EQ(a, alone(source, options(10), 0));
  EXPECT_EQ(b, alone(source, options(10), 1));
  const LoaderStats stats = loader->stats();
  EXPECT_EQ(stats.counts.delivered, 406u);
  expect_balanced(stats.counts);
  ASSERT_EQ(stats.epochs.size(), 2u);
  EXPECT_EQ(stats.epochs[0].counts.delivered, 203u);
  EXPECT_EQ(stats.epochs[1].counts.delivered, 203u);
  EXPECT_LE(stats.memory_peak, stats.memory_budget);
}

TEST(Epochs, one_inside_another_does_not_end_it) {
  const Watchdog watchdog("an epoch inside another");
  const SourcePtr source = source_of_numbers(64);
  auto loader = open(source, options(4));
  const EpochPtr outer = start(*loader);
  Numbers seen;
  while (take(*outer, seen)) {
    Numbers first;
    EXPECT_TRUE(take(*start(*loader), first));
  }
  EXPECT_EQ(seen, alone(source, options(4), 0));
  EXPECT_EQ(loader->state().epoch, 16u) << "of the epoch that delivered last";
}

TEST(Epochs, threads_each_drive_their_own) {
  const Watchdog watchdog("two consumers");
  const SourcePtr source = source_of_numbers(3000);
  const LoaderOptions o = options(7, 4);
  auto loader = open(source, o);
  std::array<EpochPtr, 3> epochs;
  std::array<Numbers, 3> seen;
  for (EpochPtr& epoch : epochs) epoch = start(*loader);
  {
    std::vector<std::jthread> consumers;
    for (std::size_t i = 0; i < epochs.size(); ++i)
      consumers.emplace_back([&, i] { seen[i] = take_all(*epochs[i]); });
  }
  for (std::size_t i = 0; i < epochs.size(); ++i) EXPECT_EQ(seen[i], alone(source, o, i)) << i;
  expect_balanced(loader->stats().counts);
  EXPECT_EQ(loader->stats().counts.delivered, 9000u);
}

TEST(Epochs, memory_for_a_few_batches_serves_as_many_epochs_in_any_order) {
  const Watchdog watchdog("epochs that share a few batches");
  LoaderOptions o = options(64 * 1024);  // half a MiB
  o.memory_bytes = 4 << 20;
  const SourcePtr source = source_of_numbers(64 * 1024 * 6);
  auto loader = open(source, o);
  std::vector<EpochPtr> epochs;
  while (true) {
    auto epoch = loader->start_epoch();
    if (!epoch) break;
    epochs.push_back(std::move(*epoch));
    ASSERT_LT(epochs.size(), 20u);
  }
  ASSERT_GE(epochs.size(), 2u);
  // The last first: those before it have opened all the batches that there is memory for.
  for (std::size_t i = epochs.size(); i-- > 0;) {
    Numbers some;
    EXPECT_TRUE(take(*epochs[i], some));
  }
  for (std::size_t i = epochs.size(); i-- > 0;) {
    Numbers rest = take_all(*epochs[i]);
    EXPECT_EQ(rest.size(), 64u * 1024 * 5) << i;
  }
  EXPECT_LE(loader->stats().memory_peak, loader->stats().memory_budget);
  expect_balanced(loader->stats().counts);
}

TEST(Epochs, too_little_memory_for_one_more_says_how_much_would_do) {
  const Watchdog watchdog("too many epochs");
  LoaderOptions o = options(64 * 1024, 1);
  o.memory_bytes = 2 << 20;  // one batch of half a MiB beside a MiB of scratch, or two
  const SourcePtr source = source_of_numbers(64 * 1024 * 3);
  auto loader = open(source, o);
  std::vector<EpochPtr> epochs;
  std::optional<Error> error;
  while (!error) {
    auto epoch = loader->start_epoch();
    if (epoch)
      epochs.push_back(std::move(*epoch));
    else
      error = epoch.error();
  }
  EXPECT_EQ(error->code, ErrorCode::kNoMemory);
  std::smatch found;
  ASSERT_TRUE(std::regex_search(error->message, found, std::regex("memory= at least ([0-9]+) MiB")))
      << error->message;
  EXPECT_EQ(take_all(*epochs.front()).size(), 64u * 1024 * 3) << "the others are not disturbed";
  EXPECT_TRUE(loader->start_epoch()) << "one that came to its end holds nothing";

  o.memory_bytes = std::stoull(found[1]) << 20;
  auto larger = open(source, o);
  std::vector<EpochPtr> more;
  for (std::size_t i = 0; i < epochs.size() + 1; ++i) more.push_back(start(*larger));
  for (const EpochPtr& epoch : more) EXPECT_EQ(take_all(*epoch).size(), 64u * 1024 * 3);
}

TEST(Epochs, one_that_is_dropped_gives_its_batches_back) {
  const Watchdog watchdog("dropped epochs");
  LoaderOptions o = options(64 * 1024);
  o.memory_bytes = 4 << 20;
  const SourcePtr source = source_of_numbers(64 * 1024 * 8);
  auto loader = open(source, o);
  for (int i = 0; i < 40; ++i) {
    const EpochPtr epoch = start(*loader);  // would be one too many if the others were still there
    Numbers some;
    for (int k = 0; k < i % 3; ++k) EXPECT_TRUE(take(*epoch, some));
    if (i % 2 == 0) epoch->close();
  }
  EXPECT_EQ(take_all(*start(*loader)).size(), 64u * 1024 * 8);
  EXPECT_EQ(loader->stats().memory_lent, 0u);
}

TEST(Epochs, closed_ones_say_so) {
  auto loader = open(source_of_numbers(50), options(5));
  const EpochPtr epoch = start(*loader);
  Numbers some;
  EXPECT_TRUE(take(*epoch, some));
  epoch->close();
  EXPECT_EQ(epoch->next().error().message, "this iterator is closed");
}

TEST(Epochs, an_error_in_one_does_not_end_the_other) {
  const Watchdog watchdog("one that fails beside one that does not");
  LoaderOptions o = options(2);
  o.shuffle = ShuffleMode::kOff;
  o.transforms = {{"array",
                   {Map::of_array([](const ArraySpec& spec, const void* data) -> Result<OwnedArray> {
                     auto copy = std::make_shared<std::int64_t>();
                     std::memcpy(copy.get(), data, 8);
                     if (*copy == 5) return fail(ErrorCode::kCallback, "no fives");
                     return OwnedArray{spec, copy};
                   })},
                   ""}};
  auto loader = open(source_of_numbers(40), o);
  const auto list = [](std::vector<std::uint64_t> values) {
    return std::make_shared<const std::vector<std::uint64_t>>(std::move(values));
  };
  ASSERT_TRUE(loader->set_sampler(list({1, 2, 5, 6})));
  const EpochPtr failing = start(*loader);
  ASSERT_TRUE(loader->set_sampler(list({10, 11, 12, 13, 14, 15})));
  const EpochPtr sound = start(*loader);
  Numbers a, b;
  EXPECT_TRUE(take(*sound, b));
  EXPECT_TRUE(take(*failing, a));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(failing->next().error().message, "no fives") << "again and again";
  while (take(*sound, b)) {
  }
  EXPECT_EQ(a, (Numbers{1, 2}));
  EXPECT_EQ(b, (Numbers{10, 11, 12, 13, 14, 15}));
  const Counts counts = loader->stats().counts;
  expect_balanced(counts);
  EXPECT_EQ(counts.failed, 2u);
  EXPECT_EQ(counts.delivered, 8u);
}

TEST(Epochs, closing_the_loader_ends_all_that_wait) {
  const Watchdog watchdog("close while two wait");
  LoaderOptions o = options(1, 2);
  o.transforms = {slowly(std::chrono::milliseconds(20))};
  auto loader = open(source_of_numbers(2000), o);
  const EpochPtr first = start(*loader), second = start(*loader);
  std::atomic<int> told = 0, delivered = 0;
  {
    std::vector<std::jthread> consumers;
    for (Epoch* epoch : {first.get(), second.get()})
      consumers.emplace_back([&, epoch] {
        while (true) {
          const auto batch = epoch->next();
          if (batch && *batch) {
            ++delivered;
            continue;
          }
          if (!batch && batch.error().message == "the loader is closed") ++told;
          return;
        }
      });
    while (delivered < 2) std::this_thread::yield();
    loader->close();
  }
  EXPECT_EQ(told, 2);
  loader.reset();
  EXPECT_FALSE(first->next()) << "they may outlive their loader";
}

TEST(Epochs, dropping_one_that_is_worked_on_waits_for_nobody) {
  const Watchdog watchdog("dropped while workers are busy");
  LoaderOptions o = options(2, 2);
  o.transforms = {slowly(std::chrono::milliseconds(5))};
  auto loader = open(source_of_numbers(40), o);
  for (int i = 0; i < 10; ++i) (void)start(*loader);
  EXPECT_EQ(take_all(*start(*loader)).size(), 40u);
}

TEST(Epochs, the_state_is_that_of_the_one_that_delivered_last) {
  auto loader = open(source_of_numbers(20), options(5));
  const EpochPtr first = start(*loader), second = start(*loader);
  Numbers some;
  EXPECT_TRUE(take(*first, some));
  EXPECT_EQ(loader->state().epoch, 0u);
  EXPECT_EQ(loader->state().position, 5u);
  EXPECT_TRUE(take(*second, some));
  EXPECT_TRUE(take(*second, some));
  EXPECT_EQ(loader->state().epoch, 1u);
  EXPECT_EQ(loader->state().position, 10u);
  EXPECT_TRUE(take(*first, some));
  EXPECT_EQ(loader->state().epoch, 0u);
  EXPECT_EQ(loader->state().position, 10u);
}

TEST(Epochs, loading_a_state_ends_those_from_before) {
  const SourcePtr source = source_of_numbers(20);
  auto loader = open(source, options(5));
  const EpochPtr before = start(*loader);
  Numbers some;
  EXPECT_TRUE(take(*before, some));
  const LoaderState state = loader->state();
  ASSERT_TRUE(loader->load_state(state));
  EXPECT_NE(before->next().error().message.find("load_state_dict"), std::string::npos);
  loader->set_epoch(state.epoch);  // as at the top of every epoch: still goes on from there
  Numbers rest = take_all(*start(*loader));
  some.insert(some.end(), rest.begin(), rest.end());
  EXPECT_EQ(some, alone(source, options(5), 0));
  ASSERT_TRUE(loader->load_state(state));
  loader->set_epoch(3);
  EXPECT_EQ(take_all(*start(*loader)), alone(source, options(5), 3)) << "another begins at its beginning";
}

TEST(Epochs, ranks_may_change_between_them) {
  const Watchdog watchdog("other ranks");
  const SourcePtr source = source_of_numbers(41);
  LoaderOptions o = options(4);
  o.threads = 0;
  o.memory_bytes = 0;
  auto loader = open(source, o);
  const EpochPtr before = start(*loader);
  Numbers some;
  EXPECT_TRUE(take(*before, some));
  const std::uint64_t memory = loader->stats().memory_budget;
  ASSERT_TRUE(loader->set_ranks(1, 2, 2));
  EXPECT_NE(before->next().error().message.find("rank 1 of 2"), std::string::npos);
  EXPECT_EQ(loader->batches_per_epoch(), 6u);
  const Numbers after = take_all(*start(*loader));
  o.rank = 1;
  o.world_size = 2;
  EXPECT_EQ(after, alone(source, o, 1));
  EXPECT_LT(loader->stats().memory_budget, memory / 4 * 3) << "half of what was free, more or less";
  EXPECT_EQ(loader->stats().counts.delivered, 4 + after.size());
  expect_balanced(loader->stats().counts);
  EXPECT_FALSE(loader->set_ranks(2, 2, 2));
}

}  // namespace
}  // namespace penstock
