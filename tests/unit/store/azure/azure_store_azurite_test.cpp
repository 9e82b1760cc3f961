// Runs against Azurite where tests/cluster/test_azure.py has started it and made the container.
#include <gtest/gtest.h>

#include <cstdlib>

#include "store/azure/azure_store.h"
#include "store/s3/digest.h"
#include "support/http_reading.h"

namespace penstock {
namespace {

TEST(Azurite, keeps_what_is_written_and_lists_it) {
  const char* const connection = std::getenv("PENSTOCK_TEST_AZURE");
  if (connection == nullptr) GTEST_SKIP() << "PENSTOCK_TEST_AZURE has no connection string";
  const auto options = parse_azure_connection(connection);
  ASSERT_TRUE(options) << options.error().describe();
  const auto store = make_azure_store("az://container", *options, {});
  ASSERT_TRUE(store) << store.error().describe();
  const std::string small = counted_text(1000), large = counted_text((20 << 20) + 7);
  const std::vector<std::pair<std::string, const std::string&>> blobs = {
      {"az://container/written/a b+c&d%41.bin", small}, {"az://container/written/b/\xC3\xA4.bin", large}, {"az://container/written/b-1/e", small}};
  for (const auto& [key, bytes] : blobs) {
    auto writer = (*store)->create(key);
    ASSERT_TRUE(writer) << writer.error().describe();
    ASSERT_TRUE((*writer)->write(text_as_bytes(bytes)));
    const auto committed = (*writer)->commit();
    ASSERT_TRUE(committed) << committed.error().describe();
    const auto read = read_all(**store, key, 1 << 30);
    ASSERT_TRUE(read) << read.error().describe();
    EXPECT_TRUE(std::string_view(reinterpret_cast<const char*>(read->data()), read->size()) == bytes) << key;
    const auto part = read_text(**store, {key, {990, 10, false}, 10, (*store)->stat(key).value_or(ObjectVersion())});
    ASSERT_TRUE(part) << part.error().describe();
    EXPECT_EQ(part->text, bytes.substr(990, 10));
  }
  const auto changed = read_text(**store, {blobs[0].first, {}, 2000, ObjectVersion{1000, 1}});
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, ErrorCode::kChanged);
  std::vector<std::string> names;
  const auto listed = (*store)->list("az://container/written", {.wants_version = [](std::string_view) { return true; }, .is_recursive = true});
  ASSERT_TRUE(listed) << listed.error().describe();
  for (const FolderEntry& entry : *listed) {
    names.push_back(entry.name);
    EXPECT_EQ(*entry.version, *(*store)->stat("az://container/written/" + entry.name)) << entry.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a b+c&d%41.bin", "b-1/e", "b/\xC3\xA4.bin"}));
  const auto level = (*store)->list("az://container/written");
  ASSERT_TRUE(level);
  EXPECT_EQ(level->size(), 3u);
  EXPECT_EQ(*(*store)->kind_of("az://container/written"), KeyKind::kFolder);
  EXPECT_EQ(*(*store)->kind_of("az://container/written/b-1/e"), KeyKind::kObject);
  EXPECT_EQ(*(*store)->kind_of("az://container/writte"), KeyKind::kNothing);
  EXPECT_EQ((*store)->stat("az://container/nothing").error().code, ErrorCode::kNotFound);
  EXPECT_EQ((*store)->list("az://nowhere").error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace penstock
