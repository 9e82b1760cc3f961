#include "source/volume/voxel_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "source/volume/label_scan.h"
#include "source/volume/npy_volume.h"
#include "source/patches/foreground_positions.h"
#include "store/memory_store.h"
#include "support/make_npy.h"

namespace penstock {
namespace {

// Labels in chunks of any shape, as Zarr keeps them: whole at the edges, and some not there.
class TestLabels final : public ChunkedArray {
 public:
  TestLabels(const Shape& shape, const Shape& chunk, const std::vector<std::uint16_t>& values,
             std::uint16_t fill, std::uint64_t missing_every)
      : ChunkedArray("labels", {DType::kUInt16, shape}, chunk),
        fill_(fill) {
    for (std::uint64_t number = 0; number < chunks(); ++number) {
      if (missing_every > 0 && number % missing_every == 0) continue;
      std::vector<std::byte> bytes(chunk_bytes(number), std::byte{0xee});
      for_each_element(number, [&](std::size_t in_chunk, std::size_t in_array) {
        std::memcpy(bytes.data() + in_chunk * 2, &values[in_array], 2);
      });
      store_.put(std::to_string(number), std::move(bytes));
    }
  }

  // (element of the whole chunk, element of the array)
  template <typename Visit>
  void for_each_element(std::uint64_t number, const Visit& visit) const {
    const std::size_t rank = grid().size();
    for (std::size_t i = 0; i < element_count(chunk_shape()); ++i) {
      std::size_t rest = i, rest_of_number = number, in_array = 0, factor = 1;
      bool inside = true;
      for (std::size_t d = rank; d-- > 0;) {
        const auto extent = static_cast<std::size_t>(chunk_shape()[d]),
                   all = static_cast<std::size_t>(spec().shape[d]);
        const auto along = static_cast<std::size_t>(grid()[d]);
        const std::size_t at = rest_of_number % along * extent + rest % extent;
        inside = inside && at < all;
        in_array += at * factor;
        factor *= all;
        rest /= extent;
        rest_of_number /= along;
      }
      if (inside) visit(i, in_array);
    }
  }

  Shape chunk_strides(std::uint64_t) const override {
    Shape strides(chunk_shape().size());
    std::int64_t bytes = 2;
    for (std::size_t d = strides.size(); d-- > 0; bytes *= chunk_shape()[d]) strides[d] = bytes;
    return strides;
  }
  std::size_t chunk_bytes(std::uint64_t) const override { return element_count(chunk_shape()) * 2; }
  bool swap_bytes() const override { return false; }
  Result<ChunkLocation> location(std::uint64_t chunk) const override {
    return ChunkLocation{{std::to_string(chunk), {}, chunk_bytes(chunk), {}}};
  }
  Status decode(std::uint64_t, ConstBytes encoded, MutableBytes out, CodecWorker&) const override {
    if (fails) return fail(ErrorCode::kCorrupt, "bad chunk", {uri(), 0, 0, -1});
    std::memcpy(out.data(), encoded.data(), out.size());
    return {};
  }
  Status fill_missing(std::uint64_t, MutableBytes out) const override {
    for (std::size_t i = 0; i < out.size(); i += 2) std::memcpy(out.data() + i, &fill_, 2);
    return {};
  }
  const Store& store() const override { return store_; }

  bool fails = false;

 private:
  MemoryStore store_;
  std::uint16_t fill_;
};

// A ball, a slab and specks: blocks that are empty, full and mixed.
std::vector<std::uint16_t> make_labels(const Shape& shape, std::mt19937& random) {
  std::vector<std::uint16_t> values(element_count(shape));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::size_t rest = i;
    double distance = 0;
    std::int64_t first = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      first = static_cast<std::int64_t>(rest % static_cast<std::size_t>(shape[d]));
      distance += std::pow(static_cast<double>(first) / static_cast<double>(shape[d]) - 0.4, 2);
      rest /= static_cast<std::size_t>(shape[d]);
    }
    if (distance < 0.06 || random() % 500 == 0)
      values[i] = static_cast<std::uint16_t>(256 * (1 + random() % 3));
  }
  return values;
}

std::uint64_t count_slowly(const Shape& shape, const std::vector<std::uint16_t>& values, const Shape& origin,
                           const Shape& size) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::size_t rest = i;
    bool inside = values[i] != 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const auto at = static_cast<std::int64_t>(rest % static_cast<std::size_t>(shape[d]));
      inside = inside && at >= origin[d] && at < origin[d] + size[d];
      rest /= static_cast<std::size_t>(shape[d]);
    }
    count += inside;
  }
  return count;
}

// The foreground of labels, with as much memory as it wants unless told otherwise.
Result<VoxelSet> foreground(const ChunkedArray& labels, const LabelScanOptions& options,
                            std::uint64_t set_bytes = std::uint64_t{1} << 32) {
  SetMemory memory(set_bytes);
  return voxels_not_zero(labels, memory, options);
}

TEST(VoxelSet, counts_as_looking_at_every_element_does) {
  const struct {
    Shape shape, chunk;
    std::uint64_t missing_every;
    std::uint16_t fill;
  } rows[] = {
      {{50, 61, 70}, {16, 16, 16}, 0, 0},
      {{50, 61, 70}, {7, 20, 33}, 3, 0},
      {{50, 61, 70}, {64, 64, 9}, 4, 5},
      {{40, 33, 16}, {1, 33, 16}, 0, 0},
      {{150, 203}, {31, 64}, 5, 0},
      {{128, 64}, {128, 64}, 0, 0},
      {{20'000}, {777}, 7, 0},
      {{16, 16, 16}, {16, 16, 16}, 1, 1},
  };
  std::mt19937 random(1);
  for (const auto& row : rows) {
    auto values = make_labels(row.shape, random);
    const TestLabels labels(row.shape, row.chunk, values, row.fill, row.missing_every);
    for (std::uint64_t chunk = 0; row.missing_every > 0 && chunk < labels.chunks();
         chunk += row.missing_every)
      labels.for_each_element(chunk, [&](std::size_t, std::size_t at) { values[at] = row.fill; });
    for (const int threads : {1, 3}) {
      const auto map =
          foreground(labels, {.axes = static_cast<int>(row.shape.size()), .threads = threads});
      ASSERT_TRUE(map) << map.error().describe();
      EXPECT_EQ(map->total(), count_slowly(row.shape, values, Shape(row.shape.size()), row.shape));
      for (int i = 0; i < 60; ++i) {
        Shape origin, size;
        for (const std::int64_t extent : row.shape) {
          origin.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extent + 20)) -
                           10);
          size.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extent)) + 1);
        }
        ASSERT_EQ(map->count(origin, size), count_slowly(row.shape, values, origin, size)) << i;
      }
    }
  }
}

TEST(VoxelSet, boxes_that_are_empty_or_endless) {
  std::mt19937 random(2);
  const Shape shape = {20, 20, 20};
  const auto values = make_labels(shape, random);
  const auto map = *foreground(TestLabels(shape, {8, 8, 8}, values, 0, 0), {});
  EXPECT_EQ(map.count(Shape{5, 5, 5}, Shape{0, 9, 9}), 0u);
  EXPECT_EQ(map.count(Shape{5, 5, 5}, Shape{-3, 9, 9}), 0u);
  EXPECT_EQ(map.count(Shape{20, 0, 0}, Shape{9, 9, 9}), 0u);
  EXPECT_EQ(map.count(Shape{-9, 0, 0}, Shape{9, 20, 20}), 0u);
  EXPECT_EQ(map.count(Shape{-1, -1, 0}, Shape{INT64_MAX, INT64_MAX, INT64_MAX}), map.total());
  EXPECT_EQ(map.count(Shape{INT64_MAX, 0, 0}, Shape{INT64_MAX, 1, 1}), 0u);
}

ChunkedArrayPtr npy_labels(std::vector<std::byte> bytes) {
  auto store = std::make_shared<MemoryStore>();
  store->put("l.npy", std::move(bytes));
  const auto array = open_npy_volume(std::move(store), "l.npy", "l.npy");
  EXPECT_TRUE(array) << array.error().describe();
  return *array;
}

TEST(VoxelSet, axes_in_front_have_one_entry_and_order_does_not_matter) {
  std::mt19937 random(3);
  const auto values = make_labels({30, 20, 10}, random);
  const auto map = *foreground(*npy_labels(make_npy("<u2", {1, 30, 20, 10}, values)), {});
  EXPECT_EQ(map.count(Shape{3, 4, 5}, Shape{20, 10, 5}),
            count_slowly({30, 20, 10}, values, {3, 4, 5}, {20, 10, 5}));
  std::vector<std::uint16_t> turned(values.size());
  for (std::size_t i = 0; i < 30; ++i)
    for (std::size_t j = 0; j < 20; ++j)
      for (std::size_t k = 0; k < 10; ++k) turned[i + 30 * (j + 20 * k)] = values[(i * 20 + j) * 10 + k];
  const auto fortran = *foreground(*npy_labels(make_npy(">u2", {30, 20, 10}, turned, true)), {});
  EXPECT_EQ(fortran.count(Shape{3, 4, 5}, Shape{20, 10, 5}), map.count(Shape{3, 4, 5}, Shape{20, 10, 5}));
}

TEST(VoxelSet, minus_zero_is_background_and_nan_is_not) {
  const std::vector<float> values = {0.f, -0.f, 1.f, NAN, 1e-40f, -2.f};
  EXPECT_EQ(foreground(*npy_labels(make_npy("<f4", {6}, values)), {.axes = 1})->total(), 4u);
  std::vector<std::uint32_t> swapped(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    swapped[i] = __builtin_bswap32(std::bit_cast<std::uint32_t>(values[i]));
  EXPECT_EQ(foreground(*npy_labels(make_npy(">f4", {6}, swapped)), {.axes = 1})->total(), 4u);
  const std::vector<std::uint64_t> doubles = {0, std::uint64_t{1} << 63, 1};
  EXPECT_EQ(foreground(*npy_labels(make_npy("<f8", {3}, doubles)), {.axes = 1})->total(), 1u);
}

TEST(VoxelSet, what_it_cannot_count_is_an_error) {
  const std::vector<std::uint16_t> values(24, 1);
  const auto labels = npy_labels(make_npy("<u2", {2, 3, 4}, values));
  EXPECT_EQ(foreground(*labels, {.axes = 2}).error().code, ErrorCode::kShapeMismatch);
  EXPECT_EQ(foreground(*labels, {.axes = 4}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(foreground(*labels, {.axes = 0}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(foreground(*labels, {}, 5).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(foreground(*labels, {.working_bytes = 10}).error().code, ErrorCode::kNoMemory);
  const std::vector<std::uint64_t> complex(3);
  EXPECT_EQ(foreground(*npy_labels(make_npy("<c8", {3}, complex)), {.axes = 1}).error().code,
            ErrorCode::kUnsupported);
  TestLabels damaged({40, 40, 40}, {8, 8, 8}, std::vector<std::uint16_t>(64'000), 0, 0);
  damaged.fails = true;
  const auto map = foreground(damaged, {});
  EXPECT_EQ(map.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(map.error().where.uri, "labels");
}

TEST(VoxelSet, progress_is_told_and_can_stop_it) {
  const TestLabels labels({40, 40, 40}, {8, 8, 8}, std::vector<std::uint16_t>(64'000), 0, 0);
  std::uint64_t last = 0;
  ASSERT_TRUE(
      foreground(labels, {.threads = 1, .progress = [&](std::uint64_t done, std::uint64_t all) {
                                     EXPECT_EQ(all, 125u);
                                     last = done;
                                     return true;
                                   }}));
  EXPECT_EQ(last, 125u);
  const auto stopped = foreground(
      labels, {.threads = 1, .progress = [](std::uint64_t done, std::uint64_t) { return done < 5; }});
  EXPECT_EQ(stopped.error().code, ErrorCode::kStopped);
}

TEST(VoxelSet, full_blocks_keep_no_bits) {
  // All ones: counts and empty places for bits, nothing else.
  const TestLabels full({64, 64, 64}, {16, 16, 64}, std::vector<std::uint16_t>(64 * 64 * 64, 1), 0, 0);
  EXPECT_TRUE(foreground(full, {}, 64 * 10));
  const TestLabels mixed(
      {64, 64, 64}, {16, 16, 64},
      [] {
        std::vector<std::uint16_t> values(64 * 64 * 64, 1);
        values[0] = 0;
        return values;
      }(),
      0, 0);
  EXPECT_EQ(foreground(mixed, {}, 64 * 10).error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(foreground(mixed, {}, 64 * 10 + 512));
}

TEST(VoxelSet, the_nth_elements_of_a_box_are_all_its_elements) {
  std::mt19937 random(4);
  const struct {
    Shape shape, origin, size;
  } rows[] = {{{50, 61, 70}, {3, 10, 5}, {30, 40, 60}},
              {{50, 61, 70}, {-4, -4, -4}, {20, 100, 30}},
              {{40, 150}, {7, 20}, {30, 90}},
              {{20'000}, {777}, {9'000}}};
  for (const auto& row : rows) {
    const auto values = make_labels(row.shape, random);
    const Shape chunk(row.shape.size(), 16);
    const auto set =
        *foreground(TestLabels(row.shape, chunk, values, 0, 0), {.axes = static_cast<int>(row.shape.size())});
    std::set<Shape> found;
    const std::uint64_t count = set.count(row.origin, row.size);
    ASSERT_GT(count, 0u);
    for (std::uint64_t i = 0; i < count; ++i) {
      const Shape place = set.nth(row.origin, row.size, i);
      std::size_t at = 0;
      for (std::size_t d = 0; d < place.size(); ++d) {
        ASSERT_TRUE(place[d] >= row.origin[d] && place[d] < row.origin[d] + row.size[d]);
        at = at * static_cast<std::size_t>(row.shape[d]) + static_cast<std::size_t>(place[d]);
      }
      ASSERT_NE(values[at], 0);
      ASSERT_TRUE(found.insert(place).second) << "came twice";
    }
  }
}

TEST(VoxelSet, values_have_sets_of_their_own_and_intersect) {
  std::mt19937 random(5);
  const Shape shape = {40, 33, 37};
  std::vector<std::uint16_t> values(element_count(shape));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::uint16_t>(i < values.size() / 3 ? 7 : random() % 3);
  const TestLabels labels(shape, {9, 16, 20}, values, 0, 0);
  SetMemory memory(std::uint64_t{1} << 30);
  auto sets = *voxels_by_value(labels, {0, 2, 7, 70'000, -1}, memory, {});
  const auto count = [&](auto is_wanted) { return static_cast<std::uint64_t>(std::ranges::count_if(values, is_wanted)); };
  EXPECT_EQ(sets[0].total(), count([](int value) { return value == 0; }));
  EXPECT_EQ(sets[1].total(), count([](int value) { return value == 2; }));
  EXPECT_EQ(sets[2].total(), count([](int value) { return value == 7; }));
  EXPECT_EQ(sets[3].total() + sets[4].total(), 0u);
  auto not_zero = *foreground(labels, {});
  ASSERT_TRUE(not_zero.intersect(sets[1], memory, ""));
  EXPECT_EQ(not_zero.total(), sets[1].total());
  EXPECT_EQ(not_zero.count(Shape{10, 5, 3}, Shape{20, 20, 30}), sets[1].count(Shape{10, 5, 3}, Shape{20, 20, 30}));
  ASSERT_TRUE(not_zero.intersect(sets[0], memory, ""));
  EXPECT_EQ(not_zero.total(), 0u);
}

TEST(VoxelSet, values_of_floats_and_of_the_other_byte_order) {
  SetMemory memory(std::uint64_t{1} << 30);
  const std::vector<float> floats = {0.f, -0.f, 2.f, NAN, 2.5f, -2.f};
  const auto sets = *voxels_by_value(*npy_labels(make_npy("<f4", {6}, floats)), {0, 2, -2}, memory, {.axes = 1});
  EXPECT_EQ(sets[0].total(), 2u);
  EXPECT_EQ(sets[1].total(), 1u);
  EXPECT_EQ(sets[2].total(), 1u);
  const std::vector<std::uint16_t> swapped = {0x0100, 0x0001, 0xfeff, 0};
  const auto big = *voxels_by_value(*npy_labels(make_npy(">i2", {4}, swapped)), {1, 256, -2}, memory, {.axes = 1});
  for (const VoxelSet& set : big) EXPECT_EQ(set.total(), 1u);
}

// Every place by itself, against sums that are carried along.
TEST(VoxelSet, centres_with_foreground_are_found_exactly) {
  std::mt19937 random(6);
  const struct {
    Shape shape, patch, first, last;
    std::uint64_t least;
  } rows[] = {{{45, 50, 41}, {8, 9, 7}, {0, 0, 0}, {37, 41, 34}, 100},
              {{45, 50, 41}, {30, 33, 3}, {2, 0, 5}, {15, 17, 38}, 900},
              {{45, 50, 41}, {1, 1, 1}, {0, 0, 0}, {44, 49, 40}, 1},
              {{90, 150}, {20, 41}, {3, 0}, {70, 109}, 60},
              {{9'000}, {50}, {0}, {8'950}, 20},
              {{20, 20, 20}, {20, 20, 20}, {0, 0, 0}, {0, 0, 0}, 5}};
  for (const auto& row : rows) {
    const auto values = make_labels(row.shape, random);
    const auto labels = *foreground(TestLabels(row.shape, Shape(row.shape.size(), 16), values, 0, 0),
                                    {.axes = static_cast<int>(row.shape.size())});
    for (const int threads : {1, 3}) {
      SetMemory memory(std::uint64_t{1} << 30);
      const auto centres = centres_with_foreground(
          labels, row.shape, {row.patch, row.first, row.last, row.least, threads, {}}, memory, "");
      ASSERT_TRUE(centres) << centres.error().describe();
      const Shape one(row.shape.size(), 1);
      Shape places(row.shape.size()), centre = places;
      for (std::size_t d = 0; d < places.size(); ++d) places[d] = row.last[d] - row.first[d] + 1;
      std::uint64_t valid = 0;
      for (std::size_t i = 0; i < element_count(places); ++i) {
        Shape origin = row.first;
        std::size_t rest = i;
        for (std::size_t d = places.size(); d-- > 0;) {
          origin[d] += static_cast<std::int64_t>(rest % static_cast<std::size_t>(places[d]));
          rest /= static_cast<std::size_t>(places[d]);
          centre[d] = origin[d] + row.patch[d] / 2;
        }
        const bool is_valid = labels.count(origin, row.patch) >= row.least;
        valid += is_valid;
        ASSERT_EQ(centres->count(centre, one), is_valid ? 1u : 0u);
      }
      EXPECT_EQ(centres->total(), valid);
    }
  }
  SetMemory memory(std::uint64_t{1} << 30);
  const auto full = *foreground(TestLabels({40, 40, 40}, {16, 16, 16}, std::vector<std::uint16_t>(64'000, 1), 0, 0), {});
  const auto stopped = centres_with_foreground(full, {40, 40, 40}, {{4, 4, 4}, {0, 0, 0}, {36, 36, 36}, 1, 1, [] { return false; }},
                                               memory, "labels");
  EXPECT_EQ(stopped.error().code, ErrorCode::kStopped);
}

}  // namespace
}  // namespace penstock
