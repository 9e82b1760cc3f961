// Samples of different size, and streams: what they do to the loader, from tar shards in memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "penstock/loader.h"
#include "source/records/tar_source.h"
#include "source/source_storage.h"
#include "store/memory_store.h"
#include "support/make_gzip.h"
#include "support/make_npy.h"
#include "support/make_tar.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Sample n has key "n" and an array of length_of(n) times the number n.
template <typename Length>
SourcePtr shards(std::uint64_t count, std::uint64_t shard_count, Length length_of, bool compressed = false) {
  auto store = std::make_shared<MemoryStore>();
  ShardSet set{"shards", "shards", "tar", {}};
  for (std::uint64_t shard = 0; shard < shard_count; ++shard) {
    TarArchive tar;
    for (std::uint64_t n = shard * count / shard_count; n < (shard + 1) * count / shard_count; ++n) {
      const auto length = static_cast<std::int64_t>(length_of(n));
      const std::vector<std::int64_t> values(static_cast<std::size_t>(length), static_cast<std::int64_t>(n));
      tar.add_file(std::to_string(n) + ".npy", text_of(make_npy<std::int64_t>("<i8", {length}, values)));
    }
    const std::string name = "shard" + std::to_string(shard) + (compressed ? ".tar.gz" : ".tar");
    store->put(name, compressed ? gzip(text_of(tar.finish()), 1) : tar.finish());
    set.paths.push_back(name);
  }
  OpenOptions options;
  options.keep_index = false;
  auto opened = open_tar(std::move(store), set, options);
  EXPECT_TRUE(opened) << opened.error().describe();
  return *opened;
}

LoaderOptions options_for(Collate collate, unsigned threads) {
  LoaderOptions options;
  options.batch_size = 8;
  options.fields = {"npy", "key"};
  options.collate = collate;
  options.threads = threads;
  options.shuffle = ShuffleMode::kAuto;
  return options;
}

// Goes through an epoch, checks every sample's content, and counts each.
std::map<std::string, int> check_epoch(Loader& loader,
                                       const std::function<std::uint64_t(std::uint64_t)>& length_of,
                                       std::vector<Batch>* keep = nullptr) {
  std::map<std::string, int> counts;
  const auto epoch = *loader.start_epoch();
  while (true) {
    auto batch = epoch->next();
    EXPECT_TRUE(batch) << batch.error().describe();
    if (!batch || !*batch) break;
    const std::vector<BatchField>& fields = (*batch)->fields;
    const BatchField& keys = fields.back();
    for (std::uint64_t i = 0; i < (*batch)->size; ++i) {
      ++counts[keys.texts[i]];
      const std::uint64_t n = std::stoull(keys.texts[i]);
      const std::int64_t* values = nullptr;
      std::uint64_t there = 0, length = length_of(n);
      if (fields[0].form == BatchForm::kList) {
        values = static_cast<const std::int64_t*>(fields[0].items[i].data);
        there = static_cast<std::uint64_t>(fields[0].items[i].spec.shape[0]);
        EXPECT_EQ(there, length);
      } else {
        there = static_cast<std::uint64_t>(fields[0].spec.shape[1]);
        values = static_cast<const std::int64_t*>(fields[0].data) + i * there;
        EXPECT_EQ(static_cast<const std::int64_t*>(fields[1].data)[i], static_cast<std::int64_t>(length));
      }
      for (std::uint64_t k = 0; k < there; ++k)
        if (values[k] != (k < length ? static_cast<std::int64_t>(n) : 0)) {
          ADD_FAILURE() << "sample " << n << " element " << k << " is " << values[k];
          break;
        }
    }
    if (keep) keep->push_back(std::move(**batch));
  }
  return counts;
}

void expect_each_once(const std::map<std::string, int>& counts, std::uint64_t samples) {
  EXPECT_EQ(counts.size(), samples);
  for (const auto& [key, count] : counts) EXPECT_EQ(count, 1) << key;
}

TEST(RaggedLoader, delivers_every_sample_once_and_right) {
  const auto length_of = [](std::uint64_t n) { return n * 37 % 101; };
  const SourcePtr source = shards(300, 3, length_of);
  for (const Collate collate : {Collate::kPad, Collate::kList})
    for (const unsigned threads : {1u, 4u}) {
      auto loader = Loader::open(source, options_for(collate, threads));
      ASSERT_TRUE(loader) << loader.error().describe();
      for (int epoch = 0; epoch < 2; ++epoch) expect_each_once(check_epoch(**loader, length_of), 300);
      EXPECT_EQ((*loader)->stats().counts.delivered, 600u);
    }
}

TEST(RaggedLoader, a_tight_budget_makes_samples_again_instead_of_waiting_or_failing) {
  // A batch takes up to 8 * 400 kB, the budget leaves room for little more than the next one.
  const auto length_of = [](std::uint64_t n) { return n % 7 == 0 ? 50'000 : 1'000 + n; };
  const SourcePtr source = shards(200, 2, length_of);
  for (const Collate collate : {Collate::kPad, Collate::kList}) {
    LoaderOptions options = options_for(collate, 4);
    options.memory_bytes = 24 << 20;
    options.prefetch = 16;
    auto loader = Loader::open(source, options);
    ASSERT_TRUE(loader) << loader.error().describe();
    expect_each_once(check_epoch(**loader, length_of), 200);
    EXPECT_LE((*loader)->stats().memory_peak, options.memory_bytes);
  }
}

TEST(RaggedLoader, batches_that_the_user_keeps_stay_valid_and_stop_nobody) {
  const auto length_of = [](std::uint64_t n) { return 5'000 + n; };
  const SourcePtr source = shards(200, 2, length_of);
  LoaderOptions options = options_for(Collate::kPad, 3);
  options.memory_bytes = 10 << 20;
  std::vector<Batch> kept;
  {
    auto loader = Loader::open(source, options);
    ASSERT_TRUE(loader) << loader.error().describe();
    expect_each_once(check_epoch(**loader, length_of, &kept), 200);
  }
  for (const Batch& batch : kept) {
    const BatchField& field = batch.fields[0];
    const auto wide = static_cast<std::uint64_t>(field.spec.shape[1]);
    for (std::uint64_t i = 0; i < batch.size; ++i)
      EXPECT_EQ(static_cast<const std::int64_t*>(field.data)[i * wide], std::stoll(batch.fields[2].texts[i]));
  }
}

TEST(RaggedLoader, a_batch_that_cannot_fit_says_so) {
  const auto length_of = [](std::uint64_t n) { return n == 150 ? 2'000'000 : 10; };
  const SourcePtr source = shards(200, 1, length_of);
  LoaderOptions options = options_for(Collate::kPad, 2);
  options.shuffle = ShuffleMode::kOff;
  options.memory_bytes = 64 << 20;
  auto loader = Loader::open(source, options);
  ASSERT_TRUE(loader) << loader.error().describe();
  const auto epoch = *(*loader)->start_epoch();
  std::optional<Error> error;
  while (!error) {
    const auto batch = epoch->next();
    if (!batch)
      error = batch.error();
    else if (!*batch)
      break;
  }
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kNoMemory);
  EXPECT_NE(error->message.find("memory="), std::string::npos) << error->message;
  const Counts counts = (*loader)->stats().counts;
  EXPECT_EQ(counts.planned, counts.delivered + counts.skipped + counts.failed);
}

TEST(RaggedLoader, an_epoch_left_early_gives_everything_back) {
  const auto length_of = [](std::uint64_t n) { return 1'000 + n; };
  const SourcePtr source = shards(300, 2, length_of);
  auto loader = Loader::open(source, options_for(Collate::kList, 4));
  ASSERT_TRUE(loader);
  for (int epoch = 0; epoch < 20; ++epoch) {
    const auto left = *(*loader)->start_epoch();
    for (int i = 0; i < epoch % 5; ++i) ASSERT_TRUE(left->next());
  }
  expect_each_once(check_epoch(**loader, length_of), 300);
}

TEST(StreamedLoader, compressed_shards_come_once_and_in_the_same_order_for_all_threads) {
  const auto length_of = [](std::uint64_t n) { return 20'000 + n; };  // 160 kB: blocks of 26 samples
  const SourcePtr source = shards(400, 5, length_of, true);
  ASSERT_TRUE(source->storage().is_forward_only());
  EXPECT_GT(source->storage().blocks.size(), 10u);
  std::vector<std::vector<std::string>> orders;
  for (const unsigned threads : {1u, 2u, 5u}) {
    LoaderOptions options = options_for(Collate::kList, threads);
    options.shuffle_window = 4;
    options.memory_bytes = 256 << 20;
    auto loader = Loader::open(source, options);
    ASSERT_TRUE(loader) << loader.error().describe();
    std::vector<Batch> kept;
    expect_each_once(check_epoch(**loader, length_of, &kept), 400);
    orders.emplace_back();
    for (const Batch& batch : kept)
      orders.back().insert(orders.back().end(), batch.fields.back().texts.begin(),
                           batch.fields.back().texts.end());
  }
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_EQ(orders[0], orders[2]);
  EXPECT_FALSE(std::ranges::is_sorted(orders[0], {}, [](const std::string& key) { return std::stoi(key); }));
}

TEST(StreamedLoader, resumes_in_the_middle) {
  const auto length_of = [](std::uint64_t n) { return 30'000 + n; };
  const SourcePtr source = shards(200, 3, length_of, true);
  LoaderOptions options = options_for(Collate::kList, 2);
  options.shuffle_window = 3;
  auto straight = Loader::open(source, options), stopped = Loader::open(source, options),
       resumed = Loader::open(source, options);
  ASSERT_TRUE(straight && stopped && resumed);
  std::vector<Batch> all, rest;
  check_epoch(**straight, length_of, &all);
  const auto epoch = *(*stopped)->start_epoch();
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(epoch->next());
  ASSERT_TRUE((*resumed)->load_state((*stopped)->state()));
  check_epoch(**resumed, length_of, &rest);
  ASSERT_EQ(rest.size() + 9, all.size());
  for (std::size_t i = 0; i < rest.size(); ++i)
    EXPECT_EQ(rest[i].fields.back().texts, all[i + 9].fields.back().texts);
}

TEST(StreamedLoader, workers_that_skip_through_several_shards_do_not_wait_for_each_other) {
  // Hundreds of samples a block and room for two blocks: each worker passes over blocks on its way.
  const auto length_of = [](std::uint64_t) { return 1'000; };
  const SourcePtr whole = shards(6'000, 4, length_of, true);
  std::vector<std::uint64_t> few;
  for (std::uint64_t sample = 0; sample < whole->size(); sample += 97) few.push_back(sample);
  const auto source = subset(whole, few);
  ASSERT_TRUE(source) << source.error().describe();
  LoaderOptions options = options_for(Collate::kList, 8);
  options.shuffle = ShuffleMode::kOff;
  options.batch_size = 2;
  options.prefetch = 1;
  auto loader = Loader::open(*source, options);
  ASSERT_TRUE(loader) << loader.error().describe();
  for (int epoch = 0; epoch < 3; ++epoch) expect_each_once(check_epoch(**loader, length_of), few.size());
}

TEST(StreamedLoader, subsets_that_go_back_are_refused) {
  const SourcePtr whole = shards(20, 1, [](std::uint64_t) { return 3; }, true);
  EXPECT_EQ(subset(whole, {5, 3}).error().code, ErrorCode::kUnsupported);
}

TEST(StreamedLoader, what_needs_any_order_is_refused) {
  const SourcePtr source = shards(20, 1, [](std::uint64_t) { return 3; }, true);
  LoaderOptions options = options_for(Collate::kStack, 1);
  options.shuffle = ShuffleMode::kFull;
  EXPECT_EQ(Loader::open(source, options).error().code, ErrorCode::kUnsupported);
  options.shuffle = ShuffleMode::kOff;
  options.sampler = std::make_shared<const std::vector<std::uint64_t>>(std::vector<std::uint64_t>{3, 1});
  EXPECT_EQ(Loader::open(source, options).error().code, ErrorCode::kUnsupported);
}

// Takes batches of two epochs in turn and checks that both are what each is alone.
void check_two_in_turn(const SourcePtr& source, const LoaderOptions& options) {
  const auto keys_alone = [&](std::uint64_t epoch) {
    auto loader = Loader::open(source, options);
    EXPECT_TRUE(loader) << loader.error().describe();
    (*loader)->set_epoch(epoch);
    std::vector<std::vector<std::string>> keys;
    const auto running = *(*loader)->start_epoch();
    while (auto batch = *running->next()) keys.push_back(batch->fields.back().texts);
    return keys;
  };
  auto loader = Loader::open(source, options);
  ASSERT_TRUE(loader) << loader.error().describe();
  const auto first = (*loader)->start_epoch(), second = (*loader)->start_epoch();
  ASSERT_TRUE(first && second) << second.error().describe();
  std::vector<std::vector<std::string>> a, b;
  while (true) {
    const auto from_first = (*first)->next(), from_second = (*second)->next();
    ASSERT_TRUE(from_first && from_second)
        << (from_first ? from_second.error().describe() : from_first.error().describe());
    if (!*from_first) break;
    a.push_back((*from_first)->fields.back().texts);
    b.push_back((*from_second)->fields.back().texts);
  }
  EXPECT_EQ(a, keys_alone(0));
  EXPECT_EQ(b, keys_alone(1));
  const LoaderStats stats = (*loader)->stats();
  EXPECT_LE(stats.memory_peak, stats.memory_budget);
}

TEST(RaggedLoader, two_epochs_whose_batches_do_not_fit_beside_each_other_take_turns) {
  const Watchdog watchdog("ragged epochs in turn");
  for (const Collate collate : {Collate::kList, Collate::kPad}) {
    LoaderOptions options = options_for(collate, 3);
    options.memory_bytes = 8 << 20;
    // Eight samples of 24 to 168 kB: a batch takes up to half of the area for what varies.
    check_two_in_turn(shards(120, 2, [](std::uint64_t n) { return 3'000 + 2'000 * (n % 10); }), options);
  }
}

TEST(StreamedLoader, two_epochs_are_each_at_their_own_place_of_the_shards) {
  const Watchdog watchdog("streamed epochs in turn");
  LoaderOptions options = options_for(Collate::kList, 3);
  options.shuffle_window = 2;
  check_two_in_turn(shards(200, 4, [](std::uint64_t n) { return 10'000 + n; }, true), options);
}

}  // namespace
}  // namespace penstock
