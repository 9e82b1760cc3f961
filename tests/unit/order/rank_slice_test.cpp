#include "order/rank_slice.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock {
namespace {

// How often each position is delivered over all ranks, padded repeats apart.
std::vector<int> coverage(RankSlice slice) {
  std::vector<int> times(slice.epoch_size);
  const std::uint64_t batches = slice.batches();
  for (slice.rank = 0; slice.rank < slice.world_size; ++slice.rank) {
    EXPECT_EQ(slice.batches(), batches);
    std::uint64_t samples = 0;
    for (std::uint64_t b = 0; b < batches; ++b) {
      const PositionRange range = slice.batch(b);
      samples += range.count;
      EXPECT_GE(range.count, 1u);
      EXPECT_LE(range.count, slice.batch_size);
      EXPECT_LE(range.first + range.count, slice.epoch_size);
      if (range.padded) continue;
      for (std::uint64_t p = range.first; p < range.first + range.count; ++p) ++times[p];
    }
    EXPECT_EQ(slice.samples(), samples);
  }
  return times;
}

TEST(RankSlice, every_position_once_for_all_small_sizes) {
  for (std::uint64_t size = 0; size <= 30; ++size)
    for (std::uint64_t batch = 1; batch <= 7; ++batch)
      for (std::uint32_t world = 1; world <= 6; ++world)
        for (std::uint64_t start = 0; start <= size; ++start) {
          const auto times = coverage({size, start, batch, 0, world, false});
          for (std::uint64_t p = 0; p < size; ++p)
            ASSERT_EQ(times[p], p >= start)
                << size << " " << batch << " " << world << " " << start << " at " << p;
        }
}

TEST(RankSlice, drop_last_delivers_whole_global_batches_only) {
  for (std::uint64_t size = 0; size <= 30; ++size)
    for (std::uint64_t batch = 1; batch <= 5; ++batch)
      for (std::uint32_t world = 1; world <= 4; ++world) {
        const RankSlice slice{size, 0, batch, 0, world, true};
        EXPECT_EQ(slice.batches(), size / (batch * world));
        const auto times = coverage(slice);
        const std::uint64_t whole = size / (batch * world) * batch * world;
        for (std::uint64_t p = 0; p < size; ++p) EXPECT_EQ(times[p], p < whole);
      }
}

TEST(RankSlice, last_batch_is_split_evenly) {
  // 10 left for 4 ranks with batches of 8: 2, 3, 2, 3.
  RankSlice slice{42, 0, 8, 0, 4, false};
  ASSERT_EQ(slice.batches(), 2u);
  for (slice.rank = 0; slice.rank < 4; ++slice.rank) {
    const auto count = slice.batch(1).count;
    EXPECT_GE(count, 2u);
    EXPECT_LE(count, 3u);
  }
}

TEST(RankSlice, fewer_samples_than_ranks_are_padded_and_say_so) {
  RankSlice slice{3, 0, 4, 0, 5, false};
  ASSERT_EQ(slice.batches(), 1u);
  for (slice.rank = 0; slice.rank < 5; ++slice.rank) {
    const auto range = slice.batch(0);
    EXPECT_EQ(range.count, 1u);
    EXPECT_EQ(range.first, slice.rank % 3);
    EXPECT_EQ(range.padded, slice.rank >= 3);
  }
}

TEST(RankSlice, position_counts_all_ranks_and_ends_at_the_end) {
  const RankSlice slice{42, 2, 4, 1, 3, false};
  EXPECT_EQ(slice.batches(), 4u);
  EXPECT_EQ(slice.position_after(0), 2u);
  EXPECT_EQ(slice.position_after(1), 14u);
  EXPECT_EQ(slice.position_after(3), 38u);
  EXPECT_EQ(slice.position_after(4), 42u);
  const RankSlice dropping{42, 2, 4, 1, 3, true};
  EXPECT_EQ(dropping.position_after(dropping.batches()), 42u);
}

}  // namespace
}  // namespace penstock
