#include "store/store_of_uri.h"

#include <gtest/gtest.h>

#include "store/file_store.h"
#include "store/http/http_store.h"

namespace penstock {
namespace {

TEST(StoreOfUri, paths_are_files) {
  for (const char* path : {"data", "/data/x", "./a/b", "a/b://c", ""}) {
    const auto store = make_store_for(path);
    ASSERT_TRUE(store) << path;
    EXPECT_NE(dynamic_cast<const FileStore*>(store->get()), nullptr) << path;
    EXPECT_TRUE((*store)->traits().is_local) << path;
    EXPECT_EQ((*store)->reads_ahead(), 0u) << path;
  }
}

TEST(StoreOfUri, tells_urls_from_paths) {
  for (const char* url : {"https://a.example/x", "s3://bucket/x", "HTTP://a"}) EXPECT_TRUE(is_remote(url)) << url;
  for (const char* path : {"data", "/data/x", "a/b://c", "./https://x", "://x", "a:b", ""})
    EXPECT_FALSE(is_remote(path)) << path;
}

TEST(StoreOfUri, urls_are_servers_where_this_build_has_them) {
  const auto store = make_store_for("HTTPS://a.example/x");
  if (!store) {
    EXPECT_EQ(store.error().code, ErrorCode::kUnsupported);
    return;
  }
  EXPECT_NE(dynamic_cast<const HttpStore*>(store->get()), nullptr);
  const StoreTraits traits = (*store)->traits();
  EXPECT_FALSE(traits.is_local || traits.can_list || traits.can_write || traits.has_cheap_random_access);
  EXPECT_GT(traits.reads_ahead, 0u);
}

TEST(StoreOfUri, other_schemes_are_refused_by_name) {
  for (const char* uri : {"s3://bucket/x", "file:///etc/passwd", "ftp://u:secret@a/x"}) {
    const auto store = make_store_for(uri);
    ASSERT_FALSE(store) << uri;
    EXPECT_EQ(store.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(store.error().message.find(std::string(uri).substr(0, 2)), std::string::npos);
    EXPECT_EQ(store.error().describe().find("secret"), std::string::npos);
  }
}

TEST(StoreOfUri, a_header_that_cannot_be_sent_is_refused_without_its_value) {
  for (const char* line : {"secret", ": secret", "A b: secret", "A: secret\r\nB: c", "Host: secret", "RANGE: secret"}) {
    const auto store = make_store_for("https://a.example/x?secret", {line});
    ASSERT_FALSE(store) << line;
    if (store.error().code == ErrorCode::kUnsupported) GTEST_SKIP() << store.error().message;
    EXPECT_EQ(store.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(store.error().describe().find("secret"), std::string::npos) << store.error().describe();
  }
}

}  // namespace
}  // namespace penstock
