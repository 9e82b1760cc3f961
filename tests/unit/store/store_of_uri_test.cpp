#include "store/store_of_uri.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/text/uri_scheme.h"
#include "store/file/file_store.h"
#include "store/http/http_store.h"
#include "store/memory_store.h"

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
  for (const char* url : {"https://a.example/x", "s3://bucket/x", "HTTP://a"}) EXPECT_TRUE(is_url(url)) << url;
  for (const char* path : {"data", "/data/x", "a/b://c", "./https://x", "://x", "a:b", ""})
    EXPECT_FALSE(is_url(path)) << path;
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
  for (const char* uri : {"nfs://host/x", "file:///etc/passwd", "ftp://u:secret@a/x"}) {
    const auto store = make_store_for(uri);
    ASSERT_FALSE(store) << uri;
    EXPECT_EQ(store.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(store.error().message.find(std::string(uri).substr(0, 2)), std::string::npos);
    EXPECT_EQ(store.error().describe().find("secret"), std::string::npos);
  }
}

TEST(StoreOfUri, a_scope_adds_a_kind_of_store_to_its_thread) {
  const auto objects = std::make_shared<MemoryStore>();
  const auto make = [&](const std::string&, const std::vector<std::string>&) -> Result<std::shared_ptr<const Store>> {
    return objects;
  };
  {
    const StoreKindScope outer({{"memory", "mem"}, make});
    const StoreKindScope inner({{"other"}, make});
    for (const char* uri : {"memory://b/x", "MEM://b/x", "other://b/x"}) {
      const auto store = make_store_for(uri);
      ASSERT_TRUE(store) << store.error().describe();
      EXPECT_EQ(store->get(), objects.get()) << uri;
    }
    EXPECT_TRUE(have_same_kind_of_store("memory://a/x", "mem://b/y"));
    EXPECT_FALSE(have_same_kind_of_store("memory://a/x", "other://b/y"));
    std::jthread([&] { EXPECT_FALSE(make_store_for("memory://b/x")); }).join();
  }
  EXPECT_FALSE(make_store_for("memory://b/x"));
}

TEST(StoreOfUri, one_kind_of_store_reads_paths_and_another_one_urls) {
  EXPECT_TRUE(have_same_kind_of_store("a", "/b/c"));
  EXPECT_TRUE(have_same_kind_of_store("http://a/x", "HTTPS://b/y"));
  EXPECT_FALSE(have_same_kind_of_store("a", "http://a/x"));
  EXPECT_FALSE(have_same_kind_of_store("s3://a/x", "http://a/x"));
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

TEST(StoreWrapScope, puts_a_store_before_each_new_one_of_this_thread) {
  const auto wrapped = std::make_shared<MemoryStore>();
  std::vector<std::string> uris;
  {
    const StoreWrapScope scope([&](const std::shared_ptr<const Store>& store, const std::string& uri)
                                   -> Result<std::shared_ptr<const Store>> {
      EXPECT_TRUE(store->traits().is_local);
      uris.push_back(uri);
      return wrapped;
    });
    EXPECT_EQ(*make_store_for("data/x"), wrapped);
    EXPECT_FALSE(make_store_for("nothing://x")) << "there is no store to wrap";
    std::thread([&] { EXPECT_NE(*make_store_for("data/y"), wrapped); }).join();
    const StoreWrapScope refusing([&](const std::shared_ptr<const Store>&, const std::string& uri)
                                      -> Result<std::shared_ptr<const Store>> {
      return fail(ErrorCode::kNoAccess, "no", {uri, -1, -1, -1});
    });
    EXPECT_EQ(make_store_for("data/z").error().code, ErrorCode::kNoAccess) << "the inner one comes first";
  }
  EXPECT_NE(*make_store_for("data/x"), wrapped);
  EXPECT_EQ(uris, std::vector<std::string>{"data/x"});
}

}  // namespace
}  // namespace penstock
