#include "penstock/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include "source/files/npy_source.h"
#include "support/encode_images.h"
#include "support/make_npy.h"
#include "support/run_loader.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

std::vector<std::int64_t> flat(const std::vector<std::vector<std::int64_t>>& batches) {
  std::vector<std::int64_t> out;
  for (const auto& batch : batches) out.insert(out.end(), batch.begin(), batch.end());
  return out;
}

LoaderOptions options(std::uint64_t batch, unsigned threads = 2) {
  LoaderOptions o;
  o.batch_size = batch;
  o.threads = threads;
  o.memory_bytes = 16 << 20;
  return o;
}

std::unique_ptr<Loader> open(const SourcePtr& source, const LoaderOptions& o) {
  auto loader = Loader::open(source, o);
  EXPECT_TRUE(loader) << loader.error().describe();
  return loader ? std::move(*loader) : nullptr;
}

TEST(Loader, delivers_every_sample_in_order_and_counts) {
  const Watchdog watchdog("an epoch");
  auto loader = open(source_of_numbers(103), options(10));
  for (int epoch = 0; epoch < 3; ++epoch) {
    const EpochRun run = run_epoch(*loader);
    ASSERT_FALSE(run.error);
    EXPECT_EQ(run.numbers.size(), 11u);
    EXPECT_EQ(run.numbers.back().size(), 3u);
    std::vector<std::int64_t> wanted(103);
    std::iota(wanted.begin(), wanted.end(), std::int64_t{0});
    EXPECT_EQ(flat(run.numbers), wanted);
  }
  const LoaderStats stats = loader->stats();
  EXPECT_EQ(stats.counts.planned, 309u);
  EXPECT_EQ(stats.counts.delivered, 309u);
  EXPECT_EQ(stats.counts.batches, 33u);
  EXPECT_EQ(stats.epochs.size(), 3u);
  EXPECT_LE(stats.memory_peak, stats.memory_budget);
  EXPECT_EQ(loader->batches_per_epoch(), 11u);
}

TEST(Loader, an_epoch_that_came_to_its_end_stays_there) {
  auto loader = open(source_of_numbers(5), options(2));
  auto epoch = *loader->start_epoch();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(epoch->next()->has_value());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(epoch->next()->has_value());
  EXPECT_EQ(run_epoch(*loader).numbers.size(), 3u);
  EXPECT_FALSE(epoch->next()->has_value());
}

TEST(Loader, can_be_tuned_within_its_division_of_memory_while_an_epoch_runs) {
  const Watchdog watchdog("an epoch that is tuned");
  auto loader = open(source_of_numbers(400), options(10, 4));
  const std::uint64_t prefetch = loader->stats().queue_capacity;
  auto epoch = *loader->start_epoch();
  std::vector<std::int64_t> numbers;
  for (unsigned threads = 0; auto batch = *epoch->next(); ++threads) {
    const Tuning now = loader->tune({threads % 7, threads % 3});
    EXPECT_EQ(now.threads, std::clamp(threads % 7, 1u, 4u));
    EXPECT_EQ(now.prefetch, std::clamp<std::uint64_t>(threads % 3, 1, prefetch));
    EXPECT_EQ(loader->stats().threads, now.threads);
    const auto* data = static_cast<const std::int64_t*>(batch->fields[0].data);
    numbers.insert(numbers.end(), data, data + batch->size);
  }
  std::vector<std::int64_t> wanted(400);
  std::iota(wanted.begin(), wanted.end(), std::int64_t{0});
  EXPECT_EQ(numbers, wanted);
  EXPECT_EQ(loader->tune({1000, 1000}).prefetch, prefetch);
}

TEST(Loader, batches_outlive_their_loader) {
  std::optional<Batch> kept;
  {
    auto loader = open(source_of_numbers(8), options(8));
    kept = *(*loader->start_epoch())->next();
  }
  ASSERT_TRUE(kept);
  EXPECT_EQ(static_cast<const std::int64_t*>(kept->fields[0].data)[7], 7);
}

TEST(Loader, holding_every_batch_of_an_epoch_neither_hangs_nor_breaks_the_budget) {
  const Watchdog watchdog("a consumer that keeps all batches");
  LoaderOptions o = options(64 * 1024);
  o.memory_bytes = 4 << 20;  // a batch is half a MiB
  auto loader = open(source_of_numbers(64 * 1024 * 20), o);
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::vector<Batch> held;
    const auto running = *loader->start_epoch();
    while (true) {
      auto batch = running->next();
      ASSERT_TRUE(batch) << batch.error().describe();
      if (!*batch) break;
      held.push_back(std::move(**batch));
    }
    ASSERT_EQ(held.size(), 20u);
    for (std::size_t b = 0; b < held.size(); ++b)
      EXPECT_EQ(static_cast<const std::int64_t*>(held[b].fields[0].data)[5],
                static_cast<std::int64_t>(b * 64 * 1024 + 5));
    EXPECT_GE(loader->stats().memory_lent, 20u * 64 * 1024 * 8);
  }
  const LoaderStats stats = loader->stats();
  EXPECT_EQ(stats.memory_lent, 0u);
  EXPECT_LE(stats.memory_peak, stats.memory_budget);
}

TEST(Loader, stopping_early_and_starting_again_at_any_batch) {
  const Watchdog watchdog("early stops");
  auto loader = open(source_of_numbers(50), options(4, 4));
  for (std::uint64_t stop = 0; stop < 13; ++stop) {
    const EpochRun run = run_epoch(*loader, stop);
    EXPECT_EQ(run.numbers.size(), stop);
  }
  EXPECT_EQ(flat(run_epoch(*loader).numbers).size(), 50u);
}

TEST(Loader, many_openings_and_closings) {
  const Watchdog watchdog("open and close");
  const SourcePtr source = source_of_numbers(1000);
  for (int i = 0; i < 60; ++i) {
    auto loader = open(source, options(10, 3));
    const auto epoch = *loader->start_epoch();
    if (i % 3 == 1) (void)epoch->next();
    if (i % 3 == 2) {
      loader->close();
      EXPECT_FALSE(loader->start_epoch());
      EXPECT_EQ(epoch->next().error().message, "the loader is closed");
    }
  }
}

TEST(Loader, keys_labels_and_pixels_of_a_sample_stay_together) {
  auto store = store_of_pictures(12);
  auto source = folder_source(store, *store);
  ASSERT_TRUE(source) << source.error().describe();
  LoaderOptions o = options(5);
  o.fields = {"image", "key", "label"};
  o.shuffle = ShuffleMode::kFull;
  auto loader = open(*source, o);
  const auto epoch = *loader->start_epoch();
  std::size_t seen = 0;
  while (true) {
    auto batch = epoch->next();
    ASSERT_TRUE(batch) << batch.error().describe();
    if (!*batch) break;
    const auto& fields = (*batch)->fields;
    EXPECT_EQ(fields[0].spec.shape, (Shape{static_cast<std::int64_t>((*batch)->size), 3, 16, 24}));
    for (std::uint64_t i = 0; i < (*batch)->size; ++i) {
      const std::string& key = fields[1].texts[i];
      EXPECT_EQ(static_cast<const std::int64_t*>(fields[2].data)[i], key[0] == 'a' ? 0 : 1);
      if (key.ends_with(".png")) {
        const Picture picture = make_picture(24, 16, 3, std::stoull(key.substr(2)) + 1);
        const auto* pixels = static_cast<const std::uint8_t*>(fields[0].data) + i * 3 * 16 * 24;
        for (int c = 0; c < 3; ++c) ASSERT_EQ(pixels[(c * 16 + 7) * 24 + 5], picture.at(5, 7, c)) << key;
      }
      ++seen;
    }
  }
  EXPECT_EQ(seen, 12u);
}

TEST(Loader, npy_files_with_another_header_take_the_long_way_to_the_same_place) {
  auto store = std::make_shared<MemoryStore>();
  store->put("data/0.npy", make_npy<float>("<f4", {2, 2}, {1, 2, 3, 4}));
  store->put("data/1.npy", make_npy<float>("<f4", {2, 2}, {1, 3, 2, 4}, true));  // Fortran order
  store->put("data/2.npy",
             make_npy<std::uint32_t>(">f4", {2, 2}, {0x0000803F, 0x00000040, 0x00004040, 0x00008040}));
  auto version2 = npy_with_header(npy_dict("<f4", {2, 2}), 2);
  const float values[] = {1, 2, 3, 4};
  append(version2, values, sizeof values);
  store->put("data/3.npy", version2);
  auto loader = open(*folder_source(store, *store), options(4));
  const EpochRun run = run_epoch(*loader);
  ASSERT_FALSE(run.error) << run.error->describe();
  const auto* got = reinterpret_cast<const float*>(run.bytes[0].data());
  for (int sample = 0; sample < 4; ++sample)
    for (int i = 0; i < 4; ++i) EXPECT_EQ(got[sample * 4 + i], values[i]) << sample << " " << i;
}

TEST(Loader, big_endian_npy_arrays_are_turned_round) {
  auto store = std::make_shared<MemoryStore>();
  store->put("x.npy", make_npy<std::uint32_t>(">i4", {3}, {0x01000000, 0x02000000, 0xFFFFFFFF}));
  auto loader = open(*make_npy_source(store, "x.npy", "x.npy"), options(3));
  const EpochRun run = run_epoch(*loader);
  ASSERT_FALSE(run.error);
  const auto* got = reinterpret_cast<const std::int32_t*>(run.bytes[0].data());
  EXPECT_EQ(got[0], 1);
  EXPECT_EQ(got[1], 2);
  EXPECT_EQ(got[2], -1);
}

TEST(Loader, fields_can_be_renamed_derived_and_left_out) {
  auto store = store_of_pictures(4);
  LoaderOptions o = options(4);
  o.fields = {"small", "picture"};
  o.renamed = {{"picture", "image"}};
  o.transforms = {{"picture", {Resize{12, 12}}, ""}, {"small", {Resize{4, 4}}, "picture"}};
  auto loader = open(*folder_source(store, *store), o);
  ASSERT_TRUE(loader);
  const auto fields = loader->sample_fields();
  ASSERT_EQ(fields.size(), 2u);
  EXPECT_EQ(fields[0].spec.shape, (Shape{3, 4, 4}));
  EXPECT_EQ(fields[1].spec.shape, (Shape{3, 12, 12}));
  EXPECT_FALSE(run_epoch(*loader).error);
}

TEST(Loader, misspelt_fields_get_a_suggestion) {
  auto store = store_of_pictures(2);
  LoaderOptions o = options(2);
  o.fields = {"imgae"};
  const auto loader = Loader::open(*folder_source(store, *store), o);
  ASSERT_FALSE(loader);
  EXPECT_NE(loader.error().message.find("did you mean \"image\""), std::string::npos)
      << loader.error().message;
}

TEST(Loader, options_that_make_no_sense_are_refused) {
  const SourcePtr source = source_of_numbers(10);
  const auto refused = [&](auto change) {
    LoaderOptions o = options(2);
    change(o);
    const auto loader = Loader::open(source, o);
    return !loader && loader.error().code == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](auto& o) { o.batch_size = 0; }));
  EXPECT_TRUE(refused([](auto& o) { o.rank = 1; }));
  EXPECT_TRUE(refused([](auto& o) { o.world_size = 0; }));
  EXPECT_TRUE(refused([](auto& o) { o.max_skip = 2; }));
  EXPECT_TRUE(refused([](auto& o) { o.max_skip = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_TRUE(refused([](auto& o) { o.threads = 100'000; }));
  EXPECT_TRUE(
      refused([](auto& o) { o.sampler = std::make_shared<const std::vector<std::uint64_t>>(1, 10); }));
  EXPECT_TRUE(refused([](auto& o) { o.fields = {"array", "array"}; }));
  EXPECT_TRUE(refused([](auto& o) { o.transforms = {{"label", {}, ""}}; }));
}

TEST(Loader, drop_last_that_leaves_nothing_is_an_empty_epoch_or_refused_never_a_hang) {
  const Watchdog watchdog("an epoch without batches");
  LoaderOptions o = options(11);
  o.drop_last = true;
  auto loader = Loader::open(source_of_numbers(10), o);
  if (!loader) return;
  EXPECT_EQ((*loader)->batches_per_epoch(), 0u);
  for (int epoch = 0; epoch < 3; ++epoch) {
    const EpochRun run = run_epoch(**loader);
    EXPECT_FALSE(run.error);
    EXPECT_TRUE(run.numbers.empty());
  }
}

TEST(Loader, batch_sizes_that_overflow_are_refused) {
  for (const std::uint64_t size : {std::uint64_t{1} << 61, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    LoaderOptions o = options(size);
    EXPECT_FALSE(Loader::open(source_of_numbers(10), o)) << size;
    o.world_size = 8;
    EXPECT_FALSE(Loader::open(source_of_numbers(10), o)) << size;
  }
}

TEST(Loader, memory_too_small_for_one_batch_says_how_much_is_needed) {
  LoaderOptions o = options(1'000'000);
  o.memory_bytes = 2 << 20;
  const auto loader = Loader::open(source_of_numbers(10), o);
  ASSERT_FALSE(loader);
  EXPECT_EQ(loader.error().code, ErrorCode::kNoMemory);
  EXPECT_NE(loader.error().message.find("memory="), std::string::npos);
}

TEST(Loader, a_sampler_may_change_between_epochs_and_ranks_share_it) {
  const auto list = [](std::vector<std::uint64_t> v) {
    return std::make_shared<const std::vector<std::uint64_t>>(std::move(v));
  };
  LoaderOptions o = options(2);
  o.sampler = list({4, 2, 4});
  auto loader = open(source_of_numbers(10), o);
  EXPECT_EQ(flat(run_epoch(*loader).numbers), (std::vector<std::int64_t>{4, 2, 4}));
  ASSERT_TRUE(loader->set_sampler(list({9, 8, 7, 6})));
  EXPECT_EQ(flat(run_epoch(*loader).numbers), (std::vector<std::int64_t>{9, 8, 7, 6}));
  EXPECT_FALSE(loader->set_sampler(list({10})));
  EXPECT_EQ(flat(run_epoch(*loader).numbers).size(), 4u) << "a refused sampler changes nothing";
}

TEST(Loader, states_of_other_data_seed_or_order_are_refused) {
  LoaderOptions o = options(2);
  o.shuffle = ShuffleMode::kFull;
  auto loader = open(source_of_numbers(10), o);
  const auto epoch = *loader->start_epoch();
  (void)epoch->next();
  const LoaderState state = loader->state();
  EXPECT_EQ(state.position, 2u);
  EXPECT_TRUE(open(source_of_numbers(10), o)->load_state(state));
  EXPECT_FALSE(open(source_of_numbers(11), o)->load_state(state));
  o.seed = 1;
  EXPECT_FALSE(open(source_of_numbers(10), o)->load_state(state));
  o.seed = 0;
  o.shuffle = ShuffleMode::kOff;
  EXPECT_FALSE(open(source_of_numbers(10), o)->load_state(state));
  LoaderState wild = state;
  wild.position = 11;
  EXPECT_FALSE(loader->load_state(wild));
}

TEST(Loader, state_after_the_last_batch_leads_to_the_next_epoch) {
  auto loader = open(source_of_numbers(6), options(2));
  const EpochRun run = run_epoch(*loader, 3);  // all batches, the end not yet asked for
  ASSERT_EQ(run.numbers.size(), 3u);
  EXPECT_EQ(loader->state().epoch, 1u);
  EXPECT_EQ(loader->state().position, 0u);
}

TEST(Loader, first_patience_ends_with_pending) {
  LoaderOptions o = options(1, 1);
  o.transforms = {{"array",
                   {Map::of_array([](const ArraySpec& spec, const void* data) -> Result<OwnedArray> {
                     std::this_thread::sleep_for(std::chrono::milliseconds(150));
                     auto copy = std::make_shared<std::vector<std::byte>>(spec.bytes());
                     std::memcpy(copy->data(), data, spec.bytes());
                     return OwnedArray{spec, {copy, copy->data()}};
                   })},
                   ""}};
  auto loader = open(source_of_numbers(2), o);
  ASSERT_TRUE(loader);
  const auto epoch = *loader->start_epoch();
  Batch batch;
  EXPECT_EQ(*epoch->next(batch, std::chrono::milliseconds(5)), Epoch::Next::kPending);
  EXPECT_TRUE(epoch->next()->has_value());
}

TEST(Loader, a_failing_function_of_the_user_is_an_error_with_the_sample) {
  LoaderOptions o = options(2);
  o.transforms = {{"array",
                   {Map::of_array([](const ArraySpec& spec, const void* data) -> Result<OwnedArray> {
                     std::int64_t value = 0;
                     std::memcpy(&value, data, 8);
                     if (value == 5) return fail(ErrorCode::kCallback, "no fives");
                     auto copy = std::make_shared<std::int64_t>(value * 2);
                     return OwnedArray{spec, copy};
                   })},
                   ""}};
  auto loader = open(source_of_numbers(8), o);
  const EpochRun run = run_epoch(*loader);
  ASSERT_TRUE(run.error);
  EXPECT_EQ(run.error->code, ErrorCode::kCallback);
  EXPECT_EQ(run.error->where.sample, 5);
  EXPECT_EQ(run.numbers.size(), 2u);
  EXPECT_EQ(run.numbers[1], (std::vector<std::int64_t>{4, 6}));
}

TEST(Loader, same_pixels_for_any_number_of_threads) {
  auto store = store_of_pictures(24);
  const auto source = *folder_source(store, *store);
  std::vector<std::vector<std::byte>> reference;
  for (const unsigned threads : {1u, 2u, 4u, 7u}) {
    LoaderOptions o = options(5, threads);
    o.shuffle = ShuffleMode::kFull;
    o.seed = 12;
    o.transforms = {{"image",
                     {RandomResizedCrop{12, 10}, RandomHorizontalFlip{},
                      ColorJitter{{0.5, 1.5}, {0.5, 1.5}, {0.5, 1.5}, {-0.2, 0.2}}},
                     ""}};
    auto loader = open(source, o);
    const EpochRun run = run_epoch(*loader);
    ASSERT_FALSE(run.error) << run.error->describe();
    if (reference.empty()) reference = run.bytes;
    EXPECT_EQ(run.bytes, reference) << threads;
  }
}

}  // namespace
}  // namespace penstock
