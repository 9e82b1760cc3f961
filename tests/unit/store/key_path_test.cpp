#include "store/key_path.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace penstock {
namespace {

TEST(KeyPath, a_url_and_a_path_from_the_root_are_whole) {
  for (const char* key : {"/", "/data/x", "s3://bucket/x", "https://h"}) EXPECT_TRUE(is_absolute_key(key)) << key;
  for (const char* key : {"", "x", "./x", "a/b://c"}) EXPECT_FALSE(is_absolute_key(key)) << key;
}

TEST(KeyPath, a_relative_path_starts_from_the_working_folder_and_a_url_stays_as_it_is) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(absolute_key("x/../y/"), here + "/y");
  EXPECT_EQ(absolute_key("."), here);
  EXPECT_EQ(absolute_key("/a//b/./c/"), "/a/b/c");
  EXPECT_EQ(absolute_key("/"), "/");
  EXPECT_EQ(absolute_key("s3://b//x/../y/"), "s3://b//x/../y/");
}

TEST(KeyPath, splits_the_name_from_the_folder) {
  const auto split = [](const char* key) {
    const SplitKey parts = split_key(key);
    return std::pair(parts.folder, parts.name);
  };
  using Parts = std::pair<std::string, std::string>;
  EXPECT_EQ(split("a/b/c.x"), Parts("a/b", "c.x"));
  EXPECT_EQ(split("c.x"), Parts("", "c.x"));
  EXPECT_EQ(split("/c.x"), Parts("/", "c.x"));
  EXPECT_EQ(split("a/./b/../c.x"), Parts("a", "c.x"));
  EXPECT_EQ(split("s3://bucket/a/b"), Parts("s3://bucket/a", "b"));
  EXPECT_EQ(split("s3://bucket/a//"), Parts("s3://bucket", "a"));
  EXPECT_EQ(split("s3://bucket/"), Parts("", "s3://bucket"));
  EXPECT_EQ(split("s3://"), Parts("", "s3://"));
}

}  // namespace
}  // namespace penstock
