#include "store/hub/hub_store.h"

#include <gtest/gtest.h>

#include "support/hub_server.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

class HubStores : public testing::Test {
 protected:
  void SetUp() override {
    server_.put("train/a.bin", counted_text(1000));
    server_.put("train/b.bin", counted_text(500, 1));
    server_.put("README.md", "read me");
    auto store = server_.store();
    if (!store && store.error().code == ErrorCode::kUnsupported) GTEST_SKIP() << store.error().message;
    ASSERT_TRUE(store) << store.error().describe();
    store_ = *store;
  }
  static std::string key(const std::string& path) { return "hf://datasets/owner/name/" + path; }
  Result<TextRead> read(const std::string& path, std::uint64_t offset = 10) {
    return read_text(*store_, {key(path), {offset, 20, false}, 100, {}});
  }

  HubServer server_;
  std::shared_ptr<const Store> store_;
  Watchdog watchdog_{"hub stores"};
};

TEST_F(HubStores, ask_where_an_object_is_once) {
  const std::string whole = counted_text(1000);
  for (std::uint64_t offset = 0; offset < 900; offset += 100) {
    const auto answer = read("train/a.bin", offset);
    ASSERT_TRUE(answer) << answer.error().describe();
    EXPECT_EQ(answer->text, whole.substr(offset, 20));
  }
  EXPECT_EQ(server_.count("resolve"), 1);
  EXPECT_EQ(server_.count("revision"), 1);
  EXPECT_FALSE(server_.token_left_the_hub());
}

TEST_F(HubStores, take_versions_from_listings_and_ask_nothing_more) {
  const auto listed = store_->list(key("train"), {.wants_version = [](std::string_view) { return true; }});
  ASSERT_TRUE(listed) << listed.error().describe();
  ASSERT_EQ(listed->size(), 2u);
  const auto object = store_->open(key("train/a.bin"));
  ASSERT_TRUE(object);
  EXPECT_EQ((*object)->version(), *(*listed)[0].version);
  EXPECT_EQ(server_.count("paths-info"), 0);
  EXPECT_EQ(*store_->kind_of(key("train/a.bin")), KeyKind::kObject);
  EXPECT_EQ(*store_->kind_of(key("train")), KeyKind::kFolder);
  EXPECT_EQ(*store_->kind_of(key("nothing")), KeyKind::kNothing);
  EXPECT_EQ(store_->stat(key("nothing")).error().code, ErrorCode::kNotFound);
}

TEST_F(HubStores, stay_at_the_commit_that_they_began_with) {
  ASSERT_TRUE(read("train/a.bin"));
  server_.commit();
  server_.put("train/a.bin", std::string(1000, 'x'));
  server_.put("train/c.bin", "new");
  EXPECT_EQ(read("train/a.bin")->text, counted_text(1000).substr(10, 20));
  EXPECT_EQ(store_->list(key("train"))->size(), 2u);
  EXPECT_EQ((*server_.store())->list(key("train"))->size(), 3u);
}

TEST_F(HubStores, another_version_than_the_indexed_one_is_a_change) {
  const auto version = store_->stat(key("train/a.bin"));
  ASSERT_TRUE(version);
  EXPECT_TRUE(read_text(*store_, {key("train/a.bin"), {0, 5, false}, 100, *version}));
  const auto other = read_text(*store_, {key("train/a.bin"), {0, 5, false}, 100, ObjectVersion{1000, 1}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kChanged);
}

TEST_F(HubStores, say_what_is_missing_and_show_no_token) {
  const auto unknown = (*server_.store(""))->list("hf://datasets/owner/name");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(unknown.error().message.find("HF_TOKEN"), std::string::npos);
  const auto wrong = (*server_.store("hf_wrong"))->list("hf://datasets/owner/name");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().describe().find("hf_wrong"), std::string::npos);
  const auto revision = store_->list("hf://datasets/owner/name@v9");
  ASSERT_FALSE(revision);
  EXPECT_NE(revision.error().message.find("no such revision"), std::string::npos);
  const auto folder = store_->list(key("nothing"));
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kNotFound);
}

TEST_F(HubStores, a_redirect_that_has_expired_is_asked_for_again) {
  ASSERT_TRUE(read("train/a.bin"));
  ASSERT_TRUE(read("train/b.bin"));
  server_.expires = true;  // the redirect of a.bin is not the last one that was handed out
  const auto answer = read("train/a.bin");
  ASSERT_TRUE(answer) << answer.error().describe();
  EXPECT_EQ(answer->text, counted_text(1000).substr(10, 20));
  EXPECT_EQ(server_.count("resolve"), 3);
}

}  // namespace
}  // namespace penstock
