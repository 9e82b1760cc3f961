#include "pack/zarr/packed_array.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

PackedArray small_array() {
  PackedArray array;
  array.name = "below/t2m";
  array.sample = {DType::kInt16, {10, 7}};
  array.samples = 23;
  array.chunk = {2, 4, 7};
  array.shard_samples = 6;
  return array;
}

TEST(PackedArray, a_shard_is_whole_chunks_of_some_samples) {
  const PackedArray array = small_array();
  EXPECT_EQ(array.shape(), (Shape{23, 10, 7}));
  EXPECT_EQ(array.chunks_of_shard(), (Shape{3, 3, 1}));
  EXPECT_EQ(array.shard_shape(), (Shape{6, 12, 7}));
  EXPECT_EQ(array.chunks_per_shard(), 9u);
  EXPECT_EQ(array.chunks_of_slab(), 3u);
  EXPECT_EQ(array.chunk_bytes(), 2u * 2 * 4 * 7);
  EXPECT_EQ(array.shards(), 4u);
  EXPECT_EQ(array.samples_of(0), 6u);
  EXPECT_EQ(array.samples_of(3), 5u);
  EXPECT_EQ(array.shard_key("z", 3), "z/below/t2m/c/3/0/0");
}

TEST(PackedArray, samples_without_elements_need_no_shard) {
  PackedArray array = small_array();
  array.sample.shape = {0, 7};
  array.chunk = {2, 1, 7};
  EXPECT_EQ(array.shards(), 0u);
}

TEST(PackedArray, names_that_leave_the_hierarchy_are_no_nodes) {
  for (const char* name : {"t2m", "a.b", "below/t2m", "..a", "key", "ü"}) EXPECT_TRUE(is_new_node_name(name)) << name;
  for (const char* name : {"", ".", "..", "...", "/", "a/", "/a", "a//b", "a/../b", "__x", "zarr.json", "a/zarr.json", "c",
                           "a\nb"})
    EXPECT_FALSE(is_new_node_name(name)) << name;
}

}  // namespace
}  // namespace penstock
