// The same promises, kept by real loaders.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "support/run_loader.h"
#include "support/seed_of_run.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

struct Case {
  std::uint64_t samples;
  LoaderOptions options;
  std::uint64_t epoch;
};

Case random_case(Draws& draws) {
  Case c;
  c.samples = 1 + draws.below(150);
  LoaderOptions& o = c.options;
  o.batch_size = 1 + draws.below(13);
  o.shuffle = static_cast<ShuffleMode>(draws.below(4));
  o.shuffle_window = 1 + draws.below(5);
  o.seed = draws.next_u32();
  o.world_size = static_cast<std::uint32_t>(1 + draws.below(4));
  o.threads = 1 + static_cast<unsigned>(draws.below(4));
  o.memory_bytes = 8 << 20;
  o.drop_last = draws.chance(0.25) && o.batch_size <= c.samples;
  if (draws.chance(0.25)) o.epoch_size = 1 + draws.below(200);
  if (draws.chance(0.25)) {
    auto list = std::make_shared<std::vector<std::uint64_t>>(1 + draws.below(60));
    for (auto& index : *list) index = draws.below(c.samples);
    o.sampler = list;
  } else if (draws.chance(0.15)) {
    auto weights = std::make_shared<std::vector<double>>(c.samples);
    for (double& weight : *weights) weight = draws.uniform();
    weights->front() += 1;
    o.weights = weights;
  }
  c.epoch = draws.below(5);
  return c;
}

std::unique_ptr<Loader> open(const SourcePtr& source, LoaderOptions options, std::uint32_t rank) {
  options.rank = rank;
  auto loader = Loader::open(source, options);
  EXPECT_TRUE(loader) << loader.error().describe();
  return std::move(*loader);
}

using Batches = std::vector<std::vector<std::int64_t>>;

struct Delivered {
  std::vector<std::int64_t> values;  // global order
  LoaderState state;
  std::uint64_t padded = 0;
};

// One epoch (or the first `stop` batches of it) on all ranks.
Delivered run_ranks(const SourcePtr& source, const LoaderOptions& options, std::uint64_t epoch,
                    std::uint64_t stop, const LoaderState* resume) {
  std::vector<Batches> of_rank;
  std::vector<std::uint64_t> padded;
  Delivered out;
  for (std::uint32_t rank = 0; rank < options.world_size; ++rank) {
    auto loader = open(source, options, rank);
    loader->set_epoch(epoch);
    if (resume) {
      EXPECT_TRUE(loader->load_state(*resume));
    }
    const EpochRun run = run_epoch(*loader, stop);
    EXPECT_FALSE(run.error) << run.error->describe();
    of_rank.push_back(run.numbers);
    padded.push_back(run.stats.counts.padded);
    const LoaderState state = loader->state();
    if (rank > 0) {
      EXPECT_EQ(state.position, out.state.position);
      EXPECT_EQ(state.epoch, out.state.epoch);
      EXPECT_EQ(run.numbers.size(), of_rank[0].size()) << "equal batch counts on all ranks";
    }
    out.state = state;
  }
  for (std::size_t b = 0; b < of_rank[0].size(); ++b)
    for (std::uint32_t rank = 0; rank < options.world_size; ++rank) {
      const bool is_repeat = padded[rank] > 0 && b + 1 == of_rank[rank].size();
      if (is_repeat)
        out.padded += of_rank[rank][b].size();
      else
        out.values.insert(out.values.end(), of_rank[rank][b].begin(), of_rank[rank][b].end());
    }
  return out;
}

void check_cases(std::uint64_t seed, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t number = from; number < to; ++number) {
    Draws draws(seed, 1, number);
    const Case c = random_case(draws);
    SCOPED_TRACE("case " + std::to_string(number));
    const Watchdog watchdog("loader property case " + std::to_string(number));
    const SourcePtr source = source_of_numbers(c.samples);

    const Delivered whole = run_ranks(source, c.options, c.epoch, ~std::uint64_t{0}, nullptr);
    if (!c.options.drop_last && c.options.epoch_size == 0 && !c.options.weights) {
      std::vector<std::int64_t> got = whole.values, wanted;
      if (c.options.sampler)
        wanted.assign(c.options.sampler->begin(), c.options.sampler->end());
      else
        for (std::uint64_t i = 0; i < c.samples; ++i) wanted.push_back(static_cast<std::int64_t>(i));
      std::ranges::sort(got);
      std::ranges::sort(wanted);
      ASSERT_EQ(got, wanted);
    }

    // The same order for other numbers of threads.
    LoaderOptions other = c.options;
    other.threads = c.options.threads % 4 + 1;
    ASSERT_EQ(run_ranks(source, other, c.epoch, ~std::uint64_t{0}, nullptr).values, whole.values);

    // Stop after some batches, go on with another number of ranks.
    const std::uint64_t batches = open(source, c.options, 0)->batches_per_epoch();
    if (batches == 0) continue;
    const std::uint64_t stop = 1 + draws.below(batches);
    const Delivered before = run_ranks(source, c.options, c.epoch, stop, nullptr);
    other.world_size = static_cast<std::uint32_t>(1 + draws.below(4));
    if (stop == batches) {
      ASSERT_EQ(before.state.epoch, c.epoch + 1);
      ASSERT_EQ(before.state.position, 0u);
      continue;
    }
    ASSERT_EQ(before.state.epoch, c.epoch);
    const Delivered after = run_ranks(source, other, 999, ~std::uint64_t{0}, &before.state);
    std::vector<std::int64_t> joined = before.values;
    joined.insert(joined.end(), after.values.begin(), after.values.end());
    if (c.options.drop_last) {
      ASSERT_LE(joined.size(), std::max<std::size_t>(c.samples, 200));
      const std::size_t common = std::min(joined.size(), whole.values.size());
      ASSERT_TRUE(std::equal(joined.begin(), joined.begin() + static_cast<std::ptrdiff_t>(common),
                             whole.values.begin()));
    } else {
      ASSERT_EQ(joined, whole.values);
    }
  }
}

TEST(LoaderProperty, every_sample_once_same_order_and_resumable) { check_cases(seed_of_run(), 0, 60); }
TEST(SlowLoaderProperty, every_sample_once_same_order_and_resumable) { check_cases(seed_of_run(), 60, 1500); }

// Pixels, too: random crops, flips and colours must not depend on threads, ranks or resumption.
void check_pixels(std::uint64_t seed, std::uint64_t from, std::uint64_t to) {
  const auto store = store_of_pictures(30);
  const SourcePtr source = *folder_source(store, *store);
  for (std::uint64_t number = from; number < to; ++number) {
    Draws draws(seed, 2, number);
    SCOPED_TRACE("case " + std::to_string(number));
    const Watchdog watchdog("pixel property case " + std::to_string(number));
    LoaderOptions options;
    options.batch_size = 1 + draws.below(9);
    options.seed = draws.next_u32();
    options.shuffle = ShuffleMode::kFull;
    options.memory_bytes = 8 << 20;
    options.fields = {"image", "key"};
    options.transforms = {{"image",
                           {RandomResizedCrop{9, 7}, RandomHorizontalFlip{},
                            ColorJitter{.brightness = {0.5, 1.5}, .hue = {-0.1, 0.1}}},
                           ""}};
    const std::uint64_t epoch = draws.below(4);
    constexpr std::size_t kSampleBytes = 3 * 9 * 7;
    // Pixels of each sample by key.
    const auto pixels = [&](const LoaderOptions& o, std::uint64_t stop, LoaderState* save,
                            const LoaderState* resume) {
      std::map<std::string, std::vector<std::byte>> out;
      for (std::uint32_t rank = 0; rank < o.world_size; ++rank) {
        auto loader = open(source, o, rank);
        loader->set_epoch(epoch);
        if (resume) {
          EXPECT_TRUE(loader->load_state(*resume));
        }
        const EpochRun run = run_epoch(*loader, stop);
        EXPECT_FALSE(run.error) << run.error->describe();
        if (save) *save = loader->state();
        for (std::size_t b = 0; b < run.keys.size(); ++b)
          for (std::size_t i = 0; i < run.keys[b].size(); ++i) {
            const auto begin = run.bytes[b].begin() + static_cast<std::ptrdiff_t>(i * kSampleBytes);
            out[run.keys[b][i]] = {begin, begin + kSampleBytes};
          }
      }
      return out;
    };
    options.threads = 1;
    const auto reference = pixels(options, ~std::uint64_t{0}, nullptr, nullptr);
    ASSERT_EQ(reference.size(), 30u);
    for (const unsigned threads : {2u, 4u}) {
      options.threads = threads;
      ASSERT_EQ(pixels(options, ~std::uint64_t{0}, nullptr, nullptr), reference);
    }
    LoaderState state;
    const std::uint64_t batches = (30 + options.batch_size - 1) / options.batch_size;
    auto joined = pixels(options, draws.below(batches), &state, nullptr);
    options.world_size = static_cast<std::uint32_t>(1 + draws.below(3));
    const auto rest = pixels(options, ~std::uint64_t{0}, nullptr, &state);
    for (const auto& [key, value] : rest) {
      ASSERT_FALSE(joined.contains(key)) << "delivered twice: " << key;
      joined[key] = value;
    }
    ASSERT_EQ(joined, reference);
  }
}

TEST(PixelProperty, pixels_depend_on_seed_epoch_and_position_alone) { check_pixels(seed_of_run(), 0, 10); }
TEST(SlowPixelProperty, pixels_depend_on_seed_epoch_and_position_alone) {
  check_pixels(seed_of_run(), 10, 200);
}

}  // namespace
}  // namespace penstock
