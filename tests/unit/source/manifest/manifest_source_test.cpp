#include "source/manifest/manifest_source.h"

#include <gtest/gtest.h>

#include "source/extent.h"
#include "store/memory_store.h"
#include "support/text_bytes.h"

namespace penstock {
namespace {

Result<SourcePtr> open(const std::string& name, const std::string& text, const OpenOptions& options = {},
                       const std::string& root = "/data") {
  auto store = std::make_shared<MemoryStore>();
  store->put(name, bytes_of(text));
  return open_manifest(std::move(store), name, name, root, options);
}

std::string field_list(const Source& source) {
  std::string out;
  for (const FieldInfo& field : source.fields())
    out +=
        field.name + ":" + std::string(name_of(field.kind)) + (field.form == FieldForm::kFile ? "@ " : " ");
  return out;
}

const std::string kTable =
    "path,mask_path,class,score,n,note\n"
    "a/1.jpg,m/1.png,dog,0.5,7,hello\n"
    "a/2.png,m/2.png,cat,1,8,\"x, y\"\n"
    "a/3.webp,m/3.png,dog,2,9,z\n";

TEST(ManifestSource, columns_are_what_their_cells_are) {
  const auto source = open("t.csv", kTable);
  ASSERT_TRUE(source) << source.error().describe();
  EXPECT_EQ(field_list(**source),
            "path:image@ mask_path:mask@ score:array class:integer n:integer note:text ");
  EXPECT_EQ((*source)->classes(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ((*source)->value(0, 3), IndexValue(std::int64_t{1}));
  EXPECT_EQ((*source)->value(1, 2), IndexValue(1.0));
  EXPECT_EQ((*source)->value(1, 5), IndexValue("x, y"));
  EXPECT_EQ((*source)->extent(2, 0)->object, "/data/a/3.webp");
  EXPECT_EQ((*source)->key(2), "a/3.webp");
}

TEST(ManifestSource, chosen_columns_become_the_fields_in_that_order) {
  OpenOptions options;
  options.columns = {{"label", "class"}, {"image", "path"}};
  const auto source = open("t.csv", kTable, options);
  ASSERT_TRUE(source) << source.error().describe();
  EXPECT_EQ(field_list(**source), "label:integer image:image@ ");
  options.columns = {{"image", "pth"}};
  EXPECT_NE(open("t.csv", kTable, options).error().message.find("did you mean \"path\""), std::string::npos);
}

TEST(ManifestSource, the_user_s_word_about_a_column_goes_first) {
  OpenOptions options;
  options.field_kinds = {{"class", "text"}, {"note", "integer"}};
  const auto source = open("t.csv", kTable, options);
  ASSERT_TRUE(source) << source.error().describe();
  EXPECT_EQ((*source)->classes(), (std::vector<std::string>{"hello", "x, y", "z"}));
  options.field_kinds = {{"n", "image"}};
  EXPECT_EQ(open("t.csv", kTable, options).error().code, ErrorCode::kInvalidArgument);
}

TEST(ManifestSource, paths_cannot_leave_the_root) {
  const auto source =
      open("t.csv", "image\n../x.jpg\n/etc/x.jpg\na/../../x.jpg\na/../x.jpg\n/data/x.jpg\n/data2/x.jpg\n");
  ASSERT_TRUE(source) << source.error().describe();
  for (const std::uint64_t sample : {0u, 1u, 2u, 5u}) {
    const auto extent = (*source)->extent(sample, 0);
    ASSERT_FALSE(extent) << sample;
    EXPECT_EQ(extent.error().code, ErrorCode::kNoAccess);
    EXPECT_EQ(extent.error().where.sample, static_cast<std::int64_t>(sample));
    EXPECT_GT(extent.error().where.offset, 0);
  }
  EXPECT_EQ((*source)->extent(3, 0)->object, "/data/x.jpg");
  EXPECT_EQ((*source)->extent(4, 0)->object, "/data/x.jpg");
  const auto anywhere = open("t.csv", "image\n/etc/x.jpg\n", {}, "/");
  EXPECT_EQ((*anywhere)->extent(0, 0)->object, "/etc/x.jpg");
}

TEST(ManifestSource, json_lines_keep_their_lists_as_json) {
  const auto source =
      open("t.jsonl", "{\"image\": \"1.jpg\", \"boxes\": [[1, 2]]}\n{\"image\": \"2.jpg\", \"boxes\": []}\n");
  ASSERT_TRUE(source) << source.error().describe();
  EXPECT_EQ(field_list(**source), "image:image@ boxes:json ");
  EXPECT_EQ((*source)->value(1, 1), IndexValue("[]"));
}

}  // namespace
}  // namespace penstock
