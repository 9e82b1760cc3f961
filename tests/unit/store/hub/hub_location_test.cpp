#include "store/hub/hub_location.h"

#include <gtest/gtest.h>

#include "store/hub/hub_answers.h"

namespace penstock {
namespace {

TEST(HubLocation, keys_have_a_kind_a_repository_a_revision_and_a_path) {
  const auto key = parse_hub_key("hf://datasets/owner/na.me@refs%2Fpr%2F1/a b/c#");
  ASSERT_FALSE(key);  // '#' begins a fragment
  const auto full = parse_hub_key("hf://datasets/owner/na.me@refs%2Fpr%2F1/a b/c/");
  ASSERT_TRUE(full) << full.error().describe();
  EXPECT_EQ(full->place(), "datasets/owner/na.me@refs/pr/1");
  EXPECT_EQ(full->path, "a b/c");
  const auto model = parse_hub_key("hf://owner/name");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->place(), "models/owner/name@main");
  EXPECT_EQ(parse_hub_key("hf://datasets/o/n@refs/convert/parquet/x.bin")->revision, "refs/convert/parquet");
  const auto location = HubLocation::make("https://hub.example/");
  EXPECT_EQ(location->resolve_url(*full, "abc"), "https://hub.example/datasets/owner/na.me/resolve/abc/a%20b/c");
  EXPECT_EQ(location->resolve_url(*model, "m"), "https://hub.example/owner/name/resolve/m/");
  EXPECT_EQ(location->tree_url(*full, "refs/pr/1", true),
            "https://hub.example/api/datasets/owner/na.me/tree/refs%2Fpr%2F1/a%20b/c?recursive=true&expand=false");
}

TEST(HubLocation, refuses_keys_that_lead_elsewhere) {
  for (const char* key : {"hf://", "hf://datasets", "hf://datasets/owner", "hf://datasets/../x", "hf://datasets/o/n/../x",
                          "hf://datasets/o/n/a//b", "hf://datasets/o/n@/x", "hf://datasets/o/n@%0/x", "hf://datasets/o/n?x=1",
                          "https://x/y", "hf://datasets/o%2F/n"})
    EXPECT_FALSE(parse_hub_key(key)) << key;
}

TEST(HubAnswers, lists_have_files_with_sizes_and_digests) {
  const auto entries = parse_hub_entries(R"([{"type": "directory", "path": "d", "oid": "x", "size": 0},
    {"type": "file", "path": "d/a", "size": 7, "oid": "small"},
    {"type": "file", "path": "d/b", "size": 9, "oid": "pointer", "lfs": {"oid": "large", "size": 9}}])");
  ASSERT_TRUE(entries) << entries.error().describe();
  EXPECT_TRUE((*entries)[0].is_folder);
  EXPECT_EQ((*entries)[1].version.size, 7u);
  EXPECT_NE((*entries)[1].version.modified_ns, (*entries)[2].version.modified_ns);
  for (const char* bad : {"", "{}", "[1]", R"([{"type": "file", "path": "a"}])", R"([{"type": "file", "path": "/a", "size": 1, "oid": "x"}])",
                          R"([{"type": "file", "path": "a", "size": -1, "oid": "x"}])"})
    EXPECT_FALSE(parse_hub_entries(bad)) << bad;
  EXPECT_FALSE(parse_hub_entries(std::string(100'000, '[')));
  EXPECT_FALSE(parse_hub_commit(R"({"sha": "main"})"));
  EXPECT_EQ(*parse_hub_commit("{\"sha\": \"" + std::string(40, 'f') + "\"}"), std::string(40, 'f'));
}

TEST(HubAnswers, the_next_page_is_in_a_link) {
  EXPECT_EQ(next_hub_page("<https://h/a?cursor=x>; rel=\"next\""), "https://h/a?cursor=x");
  EXPECT_EQ(next_hub_page("<https://h/1>; rel=\"prev\", <https://h/2>; rel=\"next\""), "https://h/2");
  EXPECT_EQ(next_hub_page("<https://h/1>; rel=\"prev\""), "");
  EXPECT_EQ(next_hub_page("no link"), "");
  EXPECT_EQ(next_hub_page(""), "");
}

}  // namespace
}  // namespace penstock
