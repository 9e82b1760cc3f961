// Chunks that samples share, in random grids, orders and budgets: what is delivered, and how often they are decoded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "base/random.h"
#include "source/array_box.h"
#include "source/array_layout.h"
#include "source/chunked_array.h"
#include "source/extent.h"
#include "source/source_storage.h"
#include "support/run_loader.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

std::uint64_t seed_of(std::uint64_t test) {
  const char* given = std::getenv("PENSTOCK_TEST_SEED");
  return test + (given ? std::strtoull(given, nullptr, 10) * 100 : 0);
}

std::byte value_at(std::int64_t row, std::int64_t column) {
  return static_cast<std::byte>(mix64(static_cast<std::uint64_t>(row * 100'003 + column)) & 0xFF);
}

// A matrix of bytes whose chunks are made when they are "decoded", which is counted.
class CountingArray final : public ChunkedArray {
 public:
  CountingArray(std::shared_ptr<const Store> store, Shape shape, Shape chunk, std::set<std::uint64_t> damaged)
      : ChunkedArray("matrix", {DType::kUInt8, std::move(shape)}, std::move(chunk)),
        store_(std::move(store)),
        damaged_(std::move(damaged)) {}

  Shape chunk_strides(std::uint64_t) const override { return {chunk_shape()[1], 1}; }
  std::size_t chunk_bytes(std::uint64_t) const override {
    return static_cast<std::size_t>(chunk_shape()[0] * chunk_shape()[1]);
  }
  bool swap_bytes() const override { return false; }
  Result<ChunkLocation> location(std::uint64_t) const override { return ChunkLocation{{"chunk", {0, 1}, 1, {}}}; }
  Status decode(std::uint64_t chunk, ConstBytes, MutableBytes out, CodecWorker&) const override {
    if (damaged_.contains(chunk)) return fail(ErrorCode::kCorrupt, "damaged");
    const auto across = static_cast<std::uint64_t>(grid()[1]);
    const auto first_row = static_cast<std::int64_t>(chunk / across) * chunk_shape()[0];
    const auto first_column = static_cast<std::int64_t>(chunk % across) * chunk_shape()[1];
    for (std::int64_t row = 0; row < chunk_shape()[0]; ++row)
      for (std::int64_t column = 0; column < chunk_shape()[1]; ++column)
        out[static_cast<std::size_t>(row * chunk_shape()[1] + column)] =
            value_at(first_row + row, first_column + column);
    return {};
  }
  Status fill_missing(std::uint64_t, MutableBytes) const override { return fail(ErrorCode::kNotFound, "missing"); }
  const Store& store() const override { return *store_; }

 private:
  const std::shared_ptr<const Store> store_;
  const std::set<std::uint64_t> damaged_;
};

struct Corner {
  std::int64_t row = 0, column = 0;
};

// Samples are boxes of one size, anywhere in the matrix.
class BoxSource final : public Source {
 public:
  BoxSource(std::shared_ptr<const CountingArray> array, std::vector<Corner> corners, Shape size)
      : corners_(std::move(corners)),
        layout_{{DType::kUInt8, std::move(size)}, false, false, {}, -1} {
    storage_.arrays = {std::move(array)};
    storage_.stored_bytes = 1;
    storage_.shares_units = true;
  }

  std::uint64_t size() const override { return corners_.size(); }
  const std::vector<FieldInfo>& fields() const override { return fields_; }
  std::string kind() const override { return "boxes"; }
  std::string uri() const override { return "matrix"; }
  std::string key(std::uint64_t sample) const override { return std::to_string(sample); }
  Result<Extent> extent(std::uint64_t, std::size_t) const override { return fail(ErrorCode::kNotFound, "chunks"); }
  const ArrayLayout* array_layout(std::size_t) const override { return &layout_; }
  void boxes(std::uint64_t sample, std::size_t, std::vector<ArrayBox>& out) const override {
    ArrayBox box;
    box.origin = {corners_[sample].row, corners_[sample].column};
    box.count = {layout_.spec.shape[0], layout_.spec.shape[1]};
    box.step = {1, 1};
    box.to_stride = {layout_.spec.shape[1], 1};
    out.push_back(box);
  }
  std::uint64_t fingerprint() const override { return 1; }
  const SourceStorage& storage() const override { return storage_; }
  std::uint64_t stored_bytes_of(std::uint64_t) const override { return 1; }

  std::set<std::uint64_t> chunks_of(std::uint64_t sample) const {
    std::set<std::uint64_t> chunks;
    const Shape& chunk = storage_.arrays.front()->chunk_shape();
    const Corner& at = corners_[sample];
    for (std::int64_t row = at.row / chunk[0]; row <= (at.row + layout_.spec.shape[0] - 1) / chunk[0]; ++row)
      for (std::int64_t column = at.column / chunk[1];
           column <= (at.column + layout_.spec.shape[1] - 1) / chunk[1]; ++column)
        chunks.insert(static_cast<std::uint64_t>(row * storage_.arrays.front()->grid()[1] + column));
    return chunks;
  }

  std::vector<std::byte> values_of(std::uint64_t sample) const {
    std::vector<std::byte> values;
    for (std::int64_t row = 0; row < layout_.spec.shape[0]; ++row)
      for (std::int64_t column = 0; column < layout_.spec.shape[1]; ++column)
        values.push_back(value_at(corners_[sample].row + row, corners_[sample].column + column));
    return values;
  }

 private:
  SourceStorage storage_;
  const std::vector<Corner> corners_;
  const ArrayLayout layout_;
  const std::vector<FieldInfo> fields_{{"array", FieldKind::kArray, FieldForm::kChunks}};
};

struct Case {
  std::shared_ptr<const BoxSource> source;
  std::uint64_t chunk_bytes = 0, sample_bytes = 0;
  LoaderOptions options;
};

// Chunks of 64 KiB or so, and samples that reach over many of them.
Case random_case(Draws& draws, std::set<std::uint64_t> damaged = {}) {
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(high - low + 1)));
  };
  auto store = std::make_shared<MemoryStore>();
  store->put("chunk", {std::byte{1}});
  const Shape chunk{between(200, 400), between(200, 400)};
  const Shape shape{chunk[0] * between(1, 3), chunk[1] * between(1, 12)};
  const Shape size{between(1, 20), between(1, shape[1])};
  std::vector<Corner> corners(1 + draws.below(120));
  for (Corner& corner : corners) corner = {between(0, shape[0] - size[0]), between(0, shape[1] - size[1])};
  Case c;
  c.chunk_bytes = static_cast<std::uint64_t>(chunk[0] * chunk[1]);
  c.sample_bytes = static_cast<std::uint64_t>(size[0] * size[1]);
  c.source = std::make_shared<BoxSource>(
      std::make_shared<CountingArray>(store, shape, chunk, std::move(damaged)), std::move(corners), size);
  c.options.batch_size = 1 + draws.below(16);
  c.options.shuffle = draws.chance(0.5) ? ShuffleMode::kFull : ShuffleMode::kOff;
  c.options.seed = draws.next_u32();
  c.options.fields = {"array", "key"};
  c.options.prefetch = 1 + draws.below(3);
  return c;
}

// What the budget takes beside decoded chunks: batches, their keys, scratch, and what decoding takes.
std::uint64_t minimum(const Case& c, unsigned threads) {
  const std::uint64_t batch = (c.options.batch_size * (c.sample_bytes + 128) + 4096) * (c.options.prefetch + 2);
  return batch + kMiB + threads * kMiB + (threads + 2) * (c.chunk_bytes * 9 / 8 + kMiB / 2);
}

struct Delivered {
  std::vector<std::vector<std::uint64_t>> batches;  // sample numbers
  LoaderStats stats;
};

Delivered deliver(const Case& c, std::uint64_t memory, unsigned threads) {
  LoaderOptions options = c.options;
  options.memory_bytes = memory;
  options.threads = threads;
  auto loader = Loader::open(c.source, options);
  EXPECT_TRUE(loader) << loader.error().describe();
  const EpochRun run = run_epoch(**loader);
  EXPECT_FALSE(run.error) << run.error->describe();
  Delivered delivered;
  delivered.stats = run.stats;
  for (std::size_t b = 0; b < run.keys.size(); ++b) {
    std::vector<std::uint64_t>& samples = delivered.batches.emplace_back();
    for (std::size_t i = 0; i < run.keys[b].size(); ++i) {
      samples.push_back(std::stoull(run.keys[b][i]));
      const std::vector<std::byte> expected = c.source->values_of(samples.back());
      EXPECT_TRUE(std::memcmp(run.bytes[b].data() + i * expected.size(), expected.data(), expected.size()) == 0)
          << "sample " << samples.back();
    }
  }
  const Counts& counts = run.stats.counts;
  EXPECT_EQ(counts.planned, counts.delivered + counts.skipped + counts.failed);
  EXPECT_LE(run.stats.memory_peak, memory);
  return delivered;
}

// How often chunks are decoded, sample by sample, if the one goes whose next use is farthest off.
std::uint64_t optimal_decodes(const Case& c, const Delivered& delivered, std::uint64_t places) {
  std::vector<std::uint64_t> uses;
  for (const auto& batch : delivered.batches)
    for (const std::uint64_t sample : batch)
      for (const std::uint64_t chunk : c.source->chunks_of(sample)) uses.push_back(chunk);
  std::map<std::uint64_t, std::size_t> next_use;
  std::vector<std::size_t> next(uses.size());
  for (std::size_t i = uses.size(); i-- > 0;) {
    const auto found = next_use.find(uses[i]);
    next[i] = found == next_use.end() ? SIZE_MAX : found->second;
    next_use[uses[i]] = i;
  }
  std::map<std::uint64_t, std::size_t> held;  // and when each is used next
  std::uint64_t decodes = 0;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (!held.contains(uses[i])) {
      ++decodes;
      if (held.size() >= places)
        held.erase(std::ranges::max_element(held, {}, [](const auto& one) { return one.second; }));
    }
    held[uses[i]] = next[i];
  }
  return decodes;
}

std::uint64_t once_per_batch(const Case& c, const Delivered& delivered) {
  std::uint64_t decodes = 0;
  for (const auto& batch : delivered.batches) {
    std::set<std::uint64_t> chunks;
    for (const std::uint64_t sample : batch) chunks.merge(c.source->chunks_of(sample));
    decodes += chunks.size();
  }
  return decodes;
}

TEST(Chunks, are_decoded_no_more_often_than_with_the_best_replacement) {
  for (std::uint64_t number = 0; number < 40; ++number) {
    SCOPED_TRACE("case " + std::to_string(number));
    Draws draws(seed_of(11), 0, number);
    const Case c = random_case(draws);
    const std::uint64_t places = 1 + draws.below(24);
    const Delivered got = deliver(c, minimum(c, 1) + places * c.chunk_bytes, 1);
    EXPECT_LE(got.stats.chunks.decoded, optimal_decodes(c, got, places));
    EXPECT_LE(got.stats.chunks.decoded, once_per_batch(c, got));
  }
}

TEST(Chunks, are_decoded_once_per_batch_by_any_number_of_threads) {
  for (std::uint64_t number = 0; number < 40; ++number) {
    SCOPED_TRACE("case " + std::to_string(number));
    const Watchdog watchdog("chunks, case " + std::to_string(number));
    Draws draws(seed_of(12), 0, number);
    const Case c = random_case(draws);
    const unsigned threads = 2 + static_cast<unsigned>(draws.below(4));
    const Delivered got = deliver(c, minimum(c, threads) + (1 + draws.below(8)) * c.chunk_bytes, threads);
    EXPECT_LE(got.stats.chunks.decoded, once_per_batch(c, got));
    EXPECT_GE(got.stats.chunks.decoded, got.stats.chunks.distinct);
    const std::uint64_t enough = got.stats.chunks.memory_for_one_decode;
    EXPECT_EQ(enough == 0, got.stats.chunks.decoded == got.stats.chunks.distinct);
    if (enough == 0) continue;
    const Delivered once = deliver(c, enough, threads);
    EXPECT_EQ(once.stats.chunks.decoded, once.stats.chunks.distinct);
    EXPECT_EQ(once.batches, got.batches);
  }
}

// Map steps need whole samples: those of a batch are put together side by side.
TEST(Chunks, are_decoded_once_per_batch_where_more_is_done_to_samples) {
  for (std::uint64_t number = 0; number < 30; ++number) {
    SCOPED_TRACE("case " + std::to_string(number));
    const Watchdog watchdog("chunks, case " + std::to_string(number));
    Draws draws(seed_of(13), 0, number);
    Case c = random_case(draws);
    const auto same = std::make_shared<const Map::Function>(
        [](std::vector<MapValue> values, const MapDraws&) -> Result<std::vector<MapValue>> { return values; });
    c.options.transforms = {{"array", {Map{same, {}}}, ""}};
    const unsigned threads = 1 + static_cast<unsigned>(draws.below(4));
    const std::uint64_t samples = c.options.batch_size * (c.sample_bytes + 4096);
    const std::uint64_t places = 2 + draws.below(8);
    // An eighth of the memory is for what the steps take.
    const Delivered got =
        deliver(c, (minimum(c, threads) + 2 * samples + places * c.chunk_bytes) * 8 / 7 + kMiB, threads);
    EXPECT_LE(got.stats.chunks.decoded, once_per_batch(c, got));
  }
}

TEST(Chunks, a_damaged_one_costs_the_samples_that_need_it_and_no_other) {
  for (std::uint64_t number = 0; number < 30; ++number) {
    SCOPED_TRACE("case " + std::to_string(number));
    const Watchdog watchdog("chunks, case " + std::to_string(number));
    Draws draws(seed_of(14), 0, number);
    const std::uint64_t damaged = draws.below(3);
    Case c = random_case(draws, {damaged});
    c.options.max_skip = 1;
    const bool is_replaced = draws.chance(0.5);
    c.options.on_error = is_replaced ? OnError::kReplace : OnError::kSkip;
    std::set<std::uint64_t> good;
    for (std::uint64_t sample = 0; sample < c.source->size(); ++sample)
      if (!c.source->chunks_of(sample).contains(damaged)) good.insert(sample);
    if (is_replaced && good.size() < c.source->size() * 3 / 4) continue;  // a stand-in may not be found
    const unsigned threads = 1 + static_cast<unsigned>(draws.below(4));
    const Delivered got = deliver(c, minimum(c, threads) + (1 + draws.below(4)) * c.chunk_bytes, threads);
    std::set<std::uint64_t> delivered;
    for (const auto& batch : got.batches) delivered.insert(batch.begin(), batch.end());
    EXPECT_EQ(delivered, good);
    const std::uint64_t bad = c.source->size() - good.size();
    EXPECT_EQ(is_replaced ? got.stats.counts.replaced : got.stats.counts.skipped, bad);
    if (bad > 0) {
      EXPECT_NE(got.stats.errors.front().message.find("damaged"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace penstock
