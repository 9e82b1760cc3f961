#include "source/mds/mds_index.h"

#include <gtest/gtest.h>

#include "support/text_bytes.h"

namespace penstock {
namespace {

// An index of one shard, with the given members in place of its own.
std::string index_with(const std::string& shard_members = "", const std::string& version = "2") {
  return R"({"version": )" + version + R"(, "shards": [{"column_encodings": ["int", "str"], "column_names": ["n", "t"],
    "column_sizes": [8, null], "compression": null, "format": "mds", "hashes": ["sha1"], "samples": 3, "size_limit": 1,
    "version": 2, "zip_data": null, "raw_data": {"basename": "shard.00000.mds", "bytes": 99, "hashes": {"sha1": "AB"}})" +
         shard_members + "}]}";
}

Result<MdsIndex> parse(const std::string& text) { return parse_mds_index(bytes_of(text), "folder/index.json"); }

// nlohmann takes the last of several members, and check_json refuses them, so changes replace text.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = index_with();
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(MdsIndex, names_shards_columns_sizes_and_hashes) {
  const auto index = parse(index_with());
  ASSERT_TRUE(index) << index.error().describe();
  ASSERT_EQ(index->shards.size(), 1u);
  const MdsShard& shard = index->shards.front();
  EXPECT_EQ(shard.raw.name, "shard.00000.mds");
  EXPECT_EQ(shard.raw.size_bytes, 99u);
  EXPECT_EQ(shard.samples, 3u);
  ASSERT_EQ(shard.raw.hashes.size(), 1u);
  EXPECT_EQ(shard.raw.hashes.front().digest, "ab");
  EXPECT_FALSE(shard.compressed);
  const std::vector<MdsColumn> columns = {{"n", "int", 8}, {"t", "str", 0}};
  EXPECT_EQ(index->layouts[shard.layout], columns);
}

TEST(MdsIndex, a_compressed_shard_is_stored_as_its_zip_data) {
  std::string text = changed(R"("zip_data": null)", R"("zip_data": {"basename": "a/s.mds.zstd", "bytes": 7, "hashes": {}})");
  text.replace(text.find(R"("compression": null)"), 19, R"("compression": "zstd:7")");
  const auto index = parse(text);
  ASSERT_TRUE(index) << index.error().describe();
  EXPECT_EQ(index->shards.front().stored().name, "a/s.mds.zstd");
  EXPECT_EQ(index->shards.front().stored().size_bytes, 7u);
}

TEST(MdsIndex, refuses_what_it_does_not_read_by_name) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {index_with("", "3"), "version 3"},
      {changed(R"("format": "mds")", R"("format": "jsonl")"), "jsonl"},
      {changed(R"("compression": null)", R"("compression": "br:3")"), "br:3"},
      {changed(R"("compression": null)", R"("compression": "zstd")"), "no zip_data"},
      {changed("shard.00000.mds", "../x"), "lead out"},
      {changed("shard.00000.mds", "/etc/passwd"), "lead out"},
      {changed("shard.00000.mds", "a/%2e%2e/b"), "lead out"},
      {changed("\"bytes\": 99", "\"bytes\": -99"), "bytes -99"},
      {changed("\"bytes\": 99", "\"bytes\": 1e3"), "bytes"},
      {changed("\"samples\": 3", "\"samples\": 4294967295"), "samples"},
      {changed("[8, null]", "[8]"), "different length"},
      {changed("[\"n\", \"t\"]", "[\"n\", \"n\"]"), "twice"},
      {R"({"version": 2})", "list of shards"},
      {"[]", "list of shards"},
  };
  for (const auto& [text, message] : cases) {
    const auto index = parse(text);
    ASSERT_FALSE(index) << message;
    EXPECT_NE(index.error().message.find(message), std::string::npos) << index.error().message;
    EXPECT_EQ(index.error().where.uri, "folder/index.json");
  }
}

TEST(MdsIndex, is_recognised_by_its_members) {
  EXPECT_TRUE(is_mds_index(bytes_of(index_with())));
  EXPECT_FALSE(is_mds_index(bytes_of(R"({"chunks": []})")));
  EXPECT_FALSE(is_mds_index(bytes_of("{")));
}

}  // namespace
}  // namespace penstock
