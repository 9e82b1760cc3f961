// Following redirects on the wire; where they may lead is in http_url_test.cpp.
#include <gtest/gtest.h>

#include "support/http_reading.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

const std::string kBody = counted_text(1000);

class HttpRedirects : public testing::Test {
 protected:
  void SetUp() override {
    auto store = make_http_store(impatient());
    if (!store) GTEST_SKIP() << store.error().message;
    store_ = *store;
  }
  Result<TextRead> read(const std::string& url) {
    return read_text(*store_, {url, {10, 20, false}, 100, {}});
  }

  std::shared_ptr<const HttpStore> store_;
  Watchdog watchdog_{"HTTP redirects"};
};

TEST_F(HttpRedirects, are_followed_a_few_times) {
  HttpServer server([](const HttpCall& call, HttpConnection& client) {
    const int left = std::stoi(call.path.substr(1));
    if (left == 0) return client.answer(call, kBody);
    client.answer_status("302 Found", {"Location: " + std::to_string(left - 1)}, "moved");
  });
  const auto good = read(server.url("/5"));
  ASSERT_TRUE(good) << good.error().describe();
  EXPECT_EQ(good->text, kBody.substr(10, 20));
  EXPECT_EQ(server.connections(), 1);
  EXPECT_EQ(store_->counters().retries, 0u);
  const auto far = read(server.url("/6"));
  ASSERT_FALSE(far);
  EXPECT_EQ(far.error().where.uri, server.url("/6"));
  EXPECT_TRUE(store_->open(server.url("/3")));
}

TEST_F(HttpRedirects, loops_end) {
  HttpServer server([](const HttpCall&, HttpConnection& client) {
    client.answer_status("307 Temporary", {"Location: /again"});
  });
  EXPECT_EQ(read(server.url()).error().code, ErrorCode::kIo);
  EXPECT_EQ(server.requests(), 6);
}

TEST_F(HttpRedirects, to_files_and_credentials_are_refused) {
  for (const char* location :
       {"file:///etc/passwd", "http://169.254.169.254/latest/meta-data/", "http://[::ffff:a9fe:a9fe]/",
        "ftp://127.0.0.1/x", "dict://127.0.0.1:1/", "\\\\host\\x"}) {
    HttpServer server([&](const HttpCall& call, HttpConnection& client) {
      // What can only be read as a path stays here, and there is nothing.
      if (call.number > 1) return client.answer_status("404 No");
      client.answer_status("301 Moved", {std::string("Location: ") + location});
    });
    const auto result = read(server.url());
    ASSERT_FALSE(result) << location;
    EXPECT_EQ(result.error().code, ErrorCode::kNoAccess) << location << result.error().describe();
    EXPECT_EQ(server.requests(), 1) << location;
  }
}

TEST_F(HttpRedirects, to_another_server_carry_no_password_and_no_headers) {
  std::mutex mutex;
  std::vector<std::string> seen;
  HttpServer other([&](const HttpCall& call, HttpConnection& client) {
    const std::lock_guard lock(mutex);
    seen.push_back(call.header("authorization") + call.header("x-token"));
    client.answer(call, kBody);
  });
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    {
      const std::lock_guard lock(mutex);
      seen.push_back(call.header("authorization") + call.header("x-token"));
    }
    if (call.path == "/x") return client.answer_status("302 Found", {"Location: /y"});
    client.answer_status("302 Found", {"Location: " + other.url()});
  });
  HttpOptions options = impatient();
  options.headers = {"X-Token: t"};
  const auto store = *make_http_store(options);
  const std::string url = "http://user:secret@127.0.0.1:" + std::to_string(server.port()) + "/x";
  const auto result = read_text(*store, {url, {10, 20, false}, 100, {}});
  ASSERT_TRUE(result) << result.error().describe();
  EXPECT_EQ(seen, (std::vector<std::string>{"Basic dXNlcjpzZWNyZXQ=t", "Basic dXNlcjpzZWNyZXQ=t", ""}));
}

TEST_F(HttpRedirects, to_another_host_can_be_forbidden) {
  HttpServer other([](const HttpCall& call, HttpConnection& client) { client.answer(call, kBody); });
  HttpServer server([&](const HttpCall&, HttpConnection& client) {
    client.answer_status("302 Found", {"Location: http://localhost:" + std::to_string(other.port()) + "/x"});
  });
  EXPECT_TRUE(read(server.url())) << "from loopback to loopback is no way in";
  HttpOptions options = impatient();
  options.allow_other_hosts = false;
  const auto store = *make_http_store(options);
  EXPECT_EQ(read_text(*store, {server.url(), {10, 20, false}, 100, {}}).error().code, ErrorCode::kNoAccess);
}

TEST_F(HttpRedirects, failures_after_one_begin_where_the_key_points) {
  std::atomic<int> first{0};
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    if (call.path == "/x")
      return client.answer_status("302 Found", {"Location: /try" + std::to_string(++first)});
    if (call.path == "/try1") return client.answer_status("503 Busy");
    client.answer(call, kBody);
  });
  const auto result = read(server.url());
  ASSERT_TRUE(result) << result.error().describe();
  EXPECT_EQ(first, 2);
}

TEST_F(HttpRedirects, without_a_target_are_errors) {
  HttpServer server([](const HttpCall&, HttpConnection& client) { client.answer_status("302 Found"); });
  EXPECT_FALSE(read(server.url()));
}

}  // namespace
}  // namespace penstock
