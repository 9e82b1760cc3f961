#include "store/http/redirect_memory.h"

#include <gtest/gtest.h>

#include "support/http_reading.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

using std::chrono::seconds;

std::optional<seconds> lifetime(const std::string& url, RedirectAnswer answer = {302, "", ""}) {
  return lifetime_of_redirect(answer, *parse_http_url(url), 1'700'000'000);  // 2023-11-14T22:13:20Z
}

TEST(RedirectLifetime, is_what_the_signed_url_says) {
  EXPECT_EQ(lifetime("https://h/x?X-Amz-Date=20231114T221320Z&X-Amz-Expires=3600&X-Amz-Signature=1"), seconds(3570));
  EXPECT_EQ(lifetime("https://h/x?X-Goog-Date=20231114T221320Z&X-Goog-Expires=600"), seconds(570));
  EXPECT_EQ(lifetime("https://h/x?Expires=1700000100&Signature=1"), seconds(70));
  EXPECT_EQ(lifetime("https://h/x?sv=2022&se=2023-11-14T22%3A23%3A20Z&sig=1"), seconds(570));
  EXPECT_EQ(lifetime("https://h/x?Expires=1699999999"), std::nullopt) << "in the past";
  EXPECT_EQ(lifetime("https://h/x?Expires=1700000020"), std::nullopt) << "it may have expired when it arrives";
  EXPECT_EQ(lifetime("https://h/x?Expires=1700000100", {302, "", "Tue, 14 Nov 2023 22:12:20 GMT"}), seconds(130))
      << "by the clock of the server";
}

TEST(RedirectLifetime, is_what_the_headers_say_otherwise) {
  EXPECT_EQ(lifetime("https://h/x"), std::nullopt);
  EXPECT_EQ(lifetime("https://h/x", {302, "public, max-age=100", ""}), seconds(70));
  EXPECT_EQ(lifetime("https://h/x", {307, "max-age=abc", ""}), std::nullopt);
  EXPECT_EQ(lifetime("https://h/x", {301, "", ""}), seconds(270));
  EXPECT_EQ(lifetime("https://h/x?Expires=1700000100", {302, "no-store", ""}), std::nullopt);
  EXPECT_EQ(lifetime("https://h/x?X-Amz-Date=20231399T221320Z&X-Amz-Expires=3600"), std::nullopt) << "no such day";
  EXPECT_EQ(lifetime("https://h/x?X-Amz-Date=x&X-Amz-Expires=99999999999999999999"), std::nullopt);
}

TEST(RedirectMemory, forgets_what_expired_and_what_it_is_told_to) {
  RedirectMemory memory;
  const HttpUrl from = *parse_http_url("https://h/x"), to = *parse_http_url("https://t/y");
  const auto now = RedirectMemory::Clock::now();
  EXPECT_EQ(memory.find(from, now), nullptr);
  memory.remember(from, {to, true, now + seconds(10)});
  ASSERT_NE(memory.find(from, now), nullptr);
  EXPECT_EQ(memory.find(from, now)->url, to);
  EXPECT_EQ(memory.find(to, now), nullptr);
  EXPECT_EQ(memory.find(from, now + seconds(11)), nullptr);
  memory.remember(from, {to, true, now + seconds(10)});
  memory.forget(from);
  EXPECT_TRUE(memory.empty());
}

// An object that is redirected, as hubs do, to a URL that expires.
class RememberedRedirects : public testing::Test {
 protected:
  void SetUp() override {
    auto store = make_http_store(impatient());
    if (!store) GTEST_SKIP() << store.error().message;
    store_ = *store;
  }
  Result<TextRead> read(const HttpServer& server) {
    return read_text(*store_, {server.url("/first"), {10, 20, false}, 100, {}});
  }
  std::shared_ptr<const HttpStore> store_;
  Watchdog watchdog_{"remembered redirects"};
  const std::string body_ = counted_text(1000);
};

TEST_F(RememberedRedirects, are_asked_for_once) {
  std::atomic<int> asked{0};
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    if (call.path.starts_with("/target")) return client.answer(call, body_);
    ++asked;
    client.answer_status("302 Found", {"Location: /target?Expires=" + std::to_string(std::time(nullptr) + 1000)});
  });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(read(server)->text, body_.substr(10, 20));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(server.requests(), 6);
}

TEST_F(RememberedRedirects, that_say_nothing_of_their_life_are_asked_for_each_time) {
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    if (call.path.starts_with("/target")) return client.answer(call, body_);
    client.answer_status("302 Found", {"Location: /target"});
  });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(read(server));
  EXPECT_EQ(server.requests(), 6);
}

TEST_F(RememberedRedirects, whose_target_has_gone_lead_back_to_the_first_url) {
  std::atomic<int> asked{0};
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    const std::string path = call.path.substr(0, call.path.find('?'));
    if (path == "/target" + std::to_string(asked)) return client.answer(call, body_);
    if (path != "/first") return client.answer_status("403 Expired");
    client.answer_status("302 Found", {"Location: /target" + std::to_string(++asked) +
                                       "?Expires=" + std::to_string(std::time(nullptr) + 1000)});
  });
  EXPECT_TRUE(read(server));
  ++asked;  // the first target is refused from now on
  const auto again = read(server);
  ASSERT_TRUE(again) << again.error().describe();
  EXPECT_EQ(again->text, body_.substr(10, 20));
  EXPECT_EQ(server.requests(), 5);
}

}  // namespace
}  // namespace penstock
