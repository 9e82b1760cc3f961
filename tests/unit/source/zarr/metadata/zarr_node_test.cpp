#include "source/zarr/metadata/zarr_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/zarr_store.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kV2Group = R"({"zarr_format": 2})";
constexpr const char* kV3Group = R"({"zarr_format": 3, "node_type": "group", "attributes": {"a": 1}})";

// Fails to list, as HTTP servers do; counts and refuses what is asked for.
class AskedStore final : public Store {
 public:
  explicit AskedStore(const TextObjects& objects) : objects_(memory_store(objects)) {}

  Result<std::unique_ptr<Object>> open(const std::string& key) const override {
    asked.push_back(key);
    if (key == no_access) return fail(ErrorCode::kNoAccess, "not for you", {key, -1, -1, -1});
    return objects_->open(key);
  }
  Result<ObjectVersion> stat(const std::string& key) const override { return objects_->stat(key); }
  StoreTraits traits() const override { return {.can_list = can_list, .has_cheap_random_access = true}; }
  Status list_pages(const std::string& key, const ListOptions& options, const TakePage& take) const override {
    if (can_list) return objects_->list_pages(key, options, take);
    return fail(ErrorCode::kUnsupported, "cannot list", {key, -1, -1, -1});
  }

  std::string no_access;
  bool can_list = false;
  mutable std::vector<std::string> asked;

 private:
  std::shared_ptr<MemoryStore> objects_;
};

TEST(ZarrNode, an_array_of_version_2_is_opened_by_its_metadata_alone) {
  const auto store = std::make_shared<AskedStore>(TextObjects{{"z/.zarray", v2_text()}});
  const auto node = ZarrNode::open(store, "z//", {});
  ASSERT_TRUE(node) << node.error().describe();
  EXPECT_TRUE(node->is_array());
  EXPECT_EQ(node->version(), 2);
  EXPECT_TRUE(node->arrays().empty());
  const auto array = node->array("");
  ASSERT_TRUE(array) << array.error().describe();
  EXPECT_EQ(array->data->uri(), "z");
  EXPECT_EQ(array->data->spec(), (ArraySpec{DType::kInt32, {10, 7}}));
  EXPECT_EQ(array->data->grid(), (Shape{3, 3}));
  EXPECT_EQ(array->data->chunk_strides(8), (Shape{12, 4}));
  EXPECT_EQ(array->data->chunk_bytes(8), 48u);
  EXPECT_EQ(array->stored_bytes, 280u);
  EXPECT_THAT(store->asked, ElementsAre("z/zarr.json", "z/.zarray", "z/.zattrs"));
}

TEST(ZarrNode, an_array_of_version_3_takes_one_read) {
  const auto store = std::make_shared<AskedStore>(TextObjects{{"z/zarr.json", v3_text()}});
  const auto node = ZarrNode::open(store, "z", {});
  ASSERT_TRUE(node) << node.error().describe();
  EXPECT_TRUE(node->is_array());
  EXPECT_EQ(node->version(), 3);
  ASSERT_TRUE(node->array(""));
  EXPECT_THAT(store->asked, ElementsAre("z/zarr.json"));
  EXPECT_EQ(node->array("x").error().code, ErrorCode::kNotFound);
}

TEST(ZarrNode, only_not_found_means_absent) {
  for (const char* key : {"z/zarr.json", "z/.zarray", "z/.zmetadata", "z/.zgroup"}) {
    const auto store = std::make_shared<AskedStore>(TextObjects{});
    store->no_access = key;
    const auto node = ZarrNode::open(store, "z", {});
    ASSERT_FALSE(node);
    EXPECT_EQ(node.error().code, ErrorCode::kNoAccess);
    EXPECT_EQ(node.error().where.uri, key);
  }
  const auto store = std::make_shared<AskedStore>(TextObjects{{"z/.zarray", v2_text()}});
  store->no_access = "z/.zattrs";
  EXPECT_EQ(ZarrNode::open(store, "z", {}).error().code, ErrorCode::kNoAccess);
}

TEST(ZarrNode, nothing_there_is_not_found) {
  const auto node = open_node({{"z/other", "x"}});
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(node.error().where.uri, "z");
}

TEST(ZarrNode, consolidated_metadata_of_version_2_name_the_arrays) {
  const std::string consolidated = R"({"zarr_consolidated_format": 1, "metadata": {
      ".zgroup": {"zarr_format": 2}, ".zattrs": {},
      "t/.zarray": )" + v2_text() + R"(, "t/.zattrs": {"_ARRAY_DIMENSIONS": ["y", "x"], "units": "K"},
      "deep/er/.zarray": )" + v2_text() +
                                   R"(, "deep/.zgroup": {"zarr_format": 2}}})";
  const auto store = std::make_shared<AskedStore>(TextObjects{{"z/.zmetadata", consolidated}});
  const auto node = ZarrNode::open(store, "z", {});
  ASSERT_TRUE(node) << node.error().describe();
  EXPECT_FALSE(node->is_array());
  EXPECT_THAT(node->arrays(), ElementsAre("deep/er", "t"));
  store->asked.clear();
  const auto array = node->array("t");
  ASSERT_TRUE(array) << array.error().describe();
  EXPECT_EQ(array->name, "t");
  EXPECT_EQ(array->data->uri(), "z/t");
  EXPECT_THAT(array->dimensions, ElementsAre("y", "x"));
  EXPECT_EQ(array->attributes["units"], "K");
  EXPECT_TRUE(store->asked.empty());
  ASSERT_TRUE(node->array("deep/er"));
}

TEST(ZarrNode, consolidated_metadata_of_version_3_name_the_arrays) {
  const std::string group = R"({"zarr_format": 3, "node_type": "group", "attributes": {},
      "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": {
        "sub": {"zarr_format": 3, "node_type": "group", "attributes": {}},
        "sub/a": )" + v3_text({{"dimension_names", R"(["y", null])"}}) +
                            "}}}";
  const auto store = std::make_shared<AskedStore>(TextObjects{{"z/zarr.json", group}});
  const auto node = ZarrNode::open(store, "z", {});
  ASSERT_TRUE(node) << node.error().describe();
  EXPECT_THAT(node->arrays(), ElementsAre("sub/a"));
  const auto array = node->array("sub/a");
  ASSERT_TRUE(array) << array.error().describe();
  EXPECT_THAT(array->dimensions, ElementsAre("y", ""));
  EXPECT_EQ(store->asked.size(), 1u);
}

TEST(ZarrNode, arrays_are_listed_where_nothing_is_consolidated) {
  for (const int version : {2, 3}) {
    const std::string array = version == 2 ? "/.zarray" : "/zarr.json";
    const std::string group = version == 2 ? "/.zgroup" : "/zarr.json";
    const std::string array_text = version == 2 ? v2_text() : v3_text();
    const std::string group_text = version == 2 ? kV2Group : kV3Group;
    const auto node = open_node({{"z" + group, group_text},
                                 {"z/b" + array, array_text},
                                 {"z/b/c/0/0", "a chunk"},
                                 {"z/g" + group, group_text},
                                 {"z/g/a" + array, array_text},
                                 {"z/damaged" + array, "{"},
                                 {"z/plain_folder/x/y", "no node"}});
    ASSERT_TRUE(node) << node.error().describe();
    EXPECT_EQ(node->version(), version);
    EXPECT_THAT(node->arrays(), ElementsAre("b", "damaged", "g/a"));
    EXPECT_TRUE(node->array("g/a"));
    EXPECT_EQ(node->array("damaged").error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(node->array("g").error().code, ErrorCode::kNotFound);
  }
}

TEST(ZarrNode, groups_that_nest_forever_are_searched_so_far) {
  TextObjects objects{{"z/.zgroup", kV2Group}};
  std::string folder = "z";
  for (int depth = 1; depth <= 20; ++depth) {
    folder += "/g";
    objects.emplace_back(folder + "/.zgroup", kV2Group);
    objects.emplace_back(folder + "/a/.zarray", v2_text());
  }
  const auto node = open_node(objects);
  ASSERT_TRUE(node) << node.error().describe();
  EXPECT_EQ(node->arrays().size(), 7u);
  EXPECT_TRUE(node->array("g/g/g/g/g/g/g/g/g/g/g/g/a")) << "by name it is there";
}

TEST(ZarrNode, where_nothing_can_be_listed_arrays_are_found_by_name) {
  const auto store =
      std::make_shared<AskedStore>(TextObjects{{"z/zarr.json", kV3Group}, {"z/g/a/zarr.json", v3_text()}});
  const auto node = ZarrNode::open(store, "z", {});
  ASSERT_TRUE(node) << node.error().describe();
  EXPECT_TRUE(node->arrays().empty());
  EXPECT_TRUE(node->array("g/a"));
  EXPECT_EQ(node->array("g/b").error().code, ErrorCode::kNotFound);
}

TEST(ZarrNode, a_wrong_name_is_answered_with_the_nearest) {
  const auto node = open_node({{"z/.zgroup", kV2Group}, {"z/temperature/.zarray", v2_text()}});
  ASSERT_TRUE(node) << node.error().describe();
  const auto array = node->array("temprature");
  ASSERT_FALSE(array);
  EXPECT_EQ(array.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(array.error().message, HasSubstr("did you mean \"temperature\"?"));
  EXPECT_EQ(array.error().where.uri, "z");
}

TEST(ZarrNode, names_cannot_lead_out_of_the_hierarchy) {
  const auto node = open_node({{"z/.zgroup", kV2Group}, {"secret/.zarray", v2_text()}});
  ASSERT_TRUE(node);
  for (const char* name : {"../secret", "/secret", "a/../../secret", ".", "", "a//b", "a/"})
    EXPECT_EQ(node->array(name).error().code, ErrorCode::kNotFound) << name;
  const auto v2 =
      open_node({{"z/.zmetadata", R"({"zarr_consolidated_format": 1, "metadata": {"../secret/.zarray": )" +
                                      v2_text() + "}}"}});
  ASSERT_FALSE(v2);
  EXPECT_EQ(v2.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(v2.error().describe(), HasSubstr("../secret"));
  const auto v3 =
      open_node({{"z/zarr.json", R"({"zarr_format": 3, "node_type": "group", "consolidated_metadata":
      {"kind": "inline", "must_understand": false, "metadata": {"../secret": )" +
                                     v3_text() + "}}}"}});
  ASSERT_FALSE(v3);
  EXPECT_EQ(v3.error().code, ErrorCode::kCorrupt);
}

TEST(ZarrNode, consolidated_metadata_that_are_not_are_errors) {
  for (const char* text : {R"({"metadata": {}})", R"({"zarr_consolidated_format": 2, "metadata": {}})",
                           R"({"zarr_consolidated_format": 1})",
                           R"({"zarr_consolidated_format": 1, "metadata": []})", "[]", "", "{"}) {
    const auto node = open_node({{"z/.zmetadata", text}});
    ASSERT_FALSE(node) << text;
    EXPECT_EQ(node.error().where.uri, "z/.zmetadata");
  }
}

TEST(ZarrNode, large_metadata_are_not_read) {
  const auto node = open_node({{"z/.zarray", std::string(2 << 20, ' ')}});
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(node.error().where.uri, "z/.zarray");
}

TEST(ZarrNode, is_zarr_looks_for_metadata) {
  for (const char* name : {"zarr.json", ".zarray", ".zgroup", ".zmetadata"}) {
    const auto store = memory_store({{std::string("z/") + name, "anything"}});
    EXPECT_TRUE(*is_zarr(*store, "z")) << name;
    EXPECT_TRUE(*is_zarr(*store, "z/")) << name;
    EXPECT_FALSE(*is_zarr(*store, "y")) << name;
  }
}

TEST(ZarrNode, a_million_million_chunks_cost_nothing) {
  const auto v2 = open_v2({{"shape", "[1000000000, 1000]"}, {"chunks", "[1, 1]"}});
  ASSERT_TRUE(v2) << v2.error().describe();
  EXPECT_EQ(v2->data->chunks(), 1'000'000'000'000u);
  EXPECT_EQ(v2->data->location(999'999'999'999)->read.key, "z/999999999.999");
  const auto v3 =
      open_v3({{"shape", "[1000000000000, 1]"},
               {"chunk_grid", R"({"name": "regular", "configuration": {"chunk_shape": [1, 1]}})"}});
  ASSERT_TRUE(v3) << v3.error().describe();
  EXPECT_EQ(v3->data->location(999'999'999'999)->read.key, "z/c/999999999999/0");
  EXPECT_EQ(v3->data->location(1'000'000'000'000).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace penstock
