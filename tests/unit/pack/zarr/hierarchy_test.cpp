#include "pack/zarr/hierarchy.h"

#include <gtest/gtest.h>

#include "source/zarr/metadata/zarr_node.h"
#include "store/memory_store.h"
#include "support/text_bytes.h"

namespace penstock {
namespace {

PackedArray array_named(const std::string& name) {
  PackedArray array;
  array.name = name;
  array.sample = {DType::kFloat32, {6}};
  array.samples = 10;
  array.chunk = {2, 4};
  array.shard_samples = 4;
  array.fill_json = "\"NaN\"";
  array.dimensions = {"time", "lat"};
  array.attributes = R"({"units": "K"})";
  return array;
}

const std::vector<PackedArray> kArrays{array_named("t2m"), array_named("below/deep/u10")};
const std::vector<CoordinateValues> kCoordinates{{"lat", DType::kUInt8, std::vector<std::byte>(6), "{}"}};

TEST(Hierarchy, the_reader_opens_what_is_written) {
  const auto store = std::make_shared<MemoryStore>();
  const std::string record = describe_pack("1", kArrays, kCoordinates);
  ASSERT_TRUE(claim_destination(*store, "z", record, kCoordinates));
  EXPECT_FALSE(is_zarr(*store, "z").value());
  ASSERT_TRUE(write_metadata(*store, "z", record));
  const auto node = ZarrNode::open(store, "z", {});
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ(node->arrays(), (std::vector<std::string>{"below/deep/u10", "lat", "t2m"}));
  const auto array = node->array("below/deep/u10");
  ASSERT_TRUE(array.has_value());
  EXPECT_EQ(array->dimensions, (std::vector<std::string>{"time", "lat"}));
  EXPECT_EQ(array->attributes["units"], "K");
  EXPECT_EQ(array->data->chunk_shape(), (Shape{2, 4}));
  EXPECT_EQ(array->data->spec(), (ArraySpec{DType::kFloat32, {10, 6}}));
  const auto group = ZarrNode::open(store, "z/below", {});
  EXPECT_TRUE(group.has_value());
}

TEST(Hierarchy, a_record_gives_back_the_arrays) {
  const auto arrays = arrays_of_record(describe_pack("1", kArrays, kCoordinates), "z");
  ASSERT_TRUE(arrays.has_value());
  ASSERT_EQ(arrays->size(), 2u);
  for (const PackedArray& array : *arrays) {
    EXPECT_EQ(array.sample, kArrays[0].sample);
    EXPECT_EQ(array.chunk, kArrays[0].chunk);
    EXPECT_EQ(array.shards(), 3u);
    EXPECT_EQ(array.chunks_per_shard(), 4u);
  }
}

TEST(Hierarchy, a_destination_belongs_to_one_pack) {
  MemoryStore store;
  const std::string record = describe_pack("1", kArrays, kCoordinates);
  EXPECT_EQ(read_record(store, "z").error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(claim_destination(store, "z", record, kCoordinates));
  EXPECT_TRUE(claim_destination(store, "z", record, kCoordinates));
  const auto other = claim_destination(store, "z", describe_pack("2", kArrays, kCoordinates), kCoordinates);
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code, ErrorCode::kInvalidArgument);
  store.put("y/zarr.json", bytes_of("{}"));
  EXPECT_FALSE(claim_destination(store, "y", record, kCoordinates).has_value());
}

TEST(Hierarchy, a_damaged_record_is_an_error_and_never_a_path_elsewhere) {
  const std::string record = describe_pack("1", kArrays, kCoordinates);
  MemoryStore store;
  for (const std::string& damaged :
       {std::string(), std::string("[]"), record.substr(0, record.size() / 2), std::string(R"({"nodes": 5})"),
        std::string(R"({"nodes": {"../../a": {}}})"), std::string(R"({"nodes": {"a": 5}})"),
        std::string(R"({"nodes": {"a": {"codecs": [{"configuration": {"chunk_shape": [0]}}]}}})")}) {
    const auto arrays = arrays_of_record(damaged, "z");
    ASSERT_FALSE(arrays.has_value()) << damaged;
    EXPECT_EQ(arrays.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(arrays.error().where.uri, "z/.penstock-pack.json");
  }
  EXPECT_FALSE(write_metadata(store, "z", R"({"nodes": {"../a": {}}})"));
  EXPECT_TRUE(store.list("z").error().code == ErrorCode::kNotFound);
}

}  // namespace
}  // namespace penstock
