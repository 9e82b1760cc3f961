#include "pipeline/bottleneck.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

// One epoch of ten seconds, of which the consumer waited for `waited`; reading took `read` and decoding `decode`.
LoaderStats stats_of(double waited, double read, double decode) {
  LoaderStats stats;
  stats.counts.batches = 5;
  EpochStats epoch;
  epoch.seconds = 10;
  epoch.stages[static_cast<std::size_t>(Stage::kDeliver)].wait_seconds = waited;
  stats.epochs.push_back(epoch);
  stats.stages[static_cast<std::size_t>(Stage::kRead)].seconds = read;
  stats.stages[static_cast<std::size_t>(Stage::kDecode)].seconds = decode;
  return stats;
}

TEST(BottleneckTest, is_unknown_before_the_first_batch) { EXPECT_EQ(find_bottleneck(LoaderStats{}), "unknown"); }

TEST(BottleneckTest, is_the_training_step_where_the_consumer_hardly_waits) {
  EXPECT_EQ(find_bottleneck(stats_of(0.4, 5, 9)), "training step");
}

TEST(BottleneckTest, is_the_slowest_stage_where_the_consumer_waits) {
  EXPECT_EQ(find_bottleneck(stats_of(6, 5, 9)), "decode");
  EXPECT_EQ(find_bottleneck(stats_of(6, 9, 5)), "read");
}

TEST(BottleneckTest, is_memory_where_chunks_are_decoded_again_and_again) {
  LoaderStats stats = stats_of(6, 1, 9);
  stats.chunks.decoded = 30;
  stats.chunks.distinct = 10;
  stats.chunks.decoded_bytes = 3000;
  stats.chunks.distinct_bytes = 1000;
  EXPECT_EQ(find_bottleneck(stats), "memory");
  stats.chunks.decoded = 10;
  EXPECT_EQ(find_bottleneck(stats), "decode");
}

}  // namespace
}  // namespace penstock
