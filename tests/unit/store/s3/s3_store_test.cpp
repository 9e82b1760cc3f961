#include "store/s3/s3_store.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "support/s3_reading.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

const std::string kBytes = counted_text(100'000);

class S3Stores : public testing::Test {
 protected:
  void SetUp() override {
    server_ = std::make_unique<S3Server>(setup_);
    server_->put("bucket/a", kBytes);
    auto store = s3_store_on(*server_);
    if (!store && store.error().code == ErrorCode::kUnsupported) GTEST_SKIP() << store.error().message;
    ASSERT_TRUE(store) << store.error().describe();
    store_ = *store;
  }
  Result<TextRead> read(const std::string& key = "s3://bucket/a") {
    return read_text(*store_, {key, {10, 20, false}, 100, {}});
  }
  void restart(S3Server::Options options) {
    store_.reset();
    server_ = std::make_unique<S3Server>(std::move(options));
    server_->put("bucket/a", kBytes);
    store_ = *s3_store_on(*server_);
  }
  std::vector<std::string> names(const std::string& folder, bool is_recursive = false) {
    std::vector<std::string> out;
    const auto listed = store_->list(folder, {.is_recursive = is_recursive});
    if (!listed) return {listed.error().describe()};
    for (const FolderEntry& entry : *listed) out.push_back(entry.name + (entry.is_folder ? "/" : ""));
    return out;
  }

  S3Server::Options setup_;
  std::unique_ptr<S3Server> server_;
  std::shared_ptr<const Store> store_;
  Watchdog watchdog_{"S3 stores"};
};

TEST_F(S3Stores, read_objects_with_odd_keys) {
  const std::vector<std::string> odd = {"a b+c",     "100%41",    "what?x=1#y",      "\xC3\xA4\xE2\x82\xAC",
                                        "a//b",      "./x",       "../x",            "a&b=c;d,e:f@g!h$i'j(k)l*m",
                                        "quote\"s",  "a\\b",      "tilde~_-.",       "tab\there",
                                        "<xml>&amp;", "new\nline"};
  for (const std::string& key : odd) {
    server_->put("bucket/odd/" + key, key + kBytes);
    const auto answer = read("s3://bucket/odd/" + key);
    ASSERT_TRUE(answer) << key << ": " << answer.error().describe();
    EXPECT_EQ(answer->text, (key + kBytes).substr(10, 20)) << key;
    EXPECT_EQ(store_->stat("s3://bucket/odd/" + key)->size, kBytes.size() + key.size());
  }
  const auto listed = store_->list("s3://bucket/odd", {.wants_version = [](std::string_view) { return true; },
                                                       .is_recursive = true});
  ASSERT_TRUE(listed) << listed.error().describe();
  EXPECT_EQ(listed->size(), odd.size() - 1) << "a folder without a name has none";
  for (const FolderEntry& entry : *listed)
    EXPECT_EQ(*entry.version, *store_->stat("s3://bucket/odd/" + entry.name)) << entry.name;
}

TEST_F(S3Stores, list_by_pages_and_ignore_markers_of_folders) {
  setup_.page_entries = 3;
  restart(setup_);
  for (const char* name : {"t/", "t/b.jpg", "t/b-1/x", "t/b/", "t/b/1", "t/b/2", "t/b/3/4", "t/c", "t/d"})
    server_->put(std::string("bucket/") + name, name);
  EXPECT_EQ(names("s3://bucket/t"), (std::vector<std::string>{"b/", "b-1/", "b.jpg", "c", "d"}));
  EXPECT_EQ(names("s3://bucket/t/", true), (std::vector<std::string>{"b-1/x", "b.jpg", "b/1", "b/2", "b/3/4", "c", "d"}));
  EXPECT_EQ(names("s3://bucket"), (std::vector<std::string>{"a", "t/"}));
  const int before = server_->http().requests();
  EXPECT_EQ(*store_->kind_of("s3://bucket/t"), KeyKind::kFolder);
  EXPECT_EQ(*store_->kind_of("s3://bucket/t/b"), KeyKind::kFolder) << "b-1/ and b.jpg come before b/";
  EXPECT_EQ(*store_->kind_of("s3://bucket/t/c"), KeyKind::kObject);
  EXPECT_EQ(*store_->kind_of("s3://bucket/t/c/"), KeyKind::kNothing);
  EXPECT_EQ(*store_->kind_of("s3://bucket/zzz"), KeyKind::kNothing);
  EXPECT_EQ(*store_->kind_of("s3://bucket"), KeyKind::kFolder);
  EXPECT_LE(server_->http().requests(), before + 8);
}

TEST_F(S3Stores, a_missing_bucket_is_no_missing_object) {
  for (const auto& error : {read("s3://nobucket/x").error(), store_->stat("s3://nobucket/x").error(),
                            store_->open("s3://nobucket/x").error(), store_->list("s3://nobucket/x").error(),
                            store_->kind_of("s3://nobucket/x").error()}) {
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << error.describe();
    EXPECT_NE(error.describe().find("there is no such bucket"), std::string::npos);
    EXPECT_NE(error.describe().find("s3://nobucket/x"), std::string::npos);
  }
  EXPECT_EQ(read("s3://bucket/x").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store_->stat("s3://bucket/x").error().code, ErrorCode::kNotFound);
}

TEST_F(S3Stores, wrong_credentials_are_one_line_without_secrets) {
  S3Options options = options_for(*server_);
  for (const auto& [id, secret] : {std::pair("key-id", "wrong-secret"), std::pair("wrong-id", "se+cret/key")}) {
    options.credentials = [&]() -> Result<S3Credentials> { return S3Credentials{id, secret, "", {}, {}}; };
    const auto store = *make_s3_store("s3://bucket", options, impatient());
    for (const auto& error : {read_all(*store, "s3://bucket/a", 1 << 20).error(), store->list("s3://bucket").error(),
                              store->create("s3://bucket/b").value()->commit().error()}) {
      EXPECT_EQ(error.code, ErrorCode::kNoAccess);
      const std::string text = error.describe();
      for (const char* secret_word : {"wrong-secret", "se+cret", "wrong-id", "quotes", "\n"})
        EXPECT_EQ(text.find(secret_word), std::string::npos) << text;
    }
  }
}

TEST_F(S3Stores, a_proxy_that_finds_nothing_is_no_missing_object) {
  std::atomic<int> proxied = 0;
  server_->before = [&](const HttpCall&, HttpConnection& client) {
    if (++proxied > 2) return false;
    client.answer_status("404 Not Found", {}, "<html>nothing here</html>");
    return true;
  };
  EXPECT_TRUE(read());
  proxied = -100;
  EXPECT_EQ(read().error().code, ErrorCode::kIo);
}

TEST_F(S3Stores, slow_down_is_obeyed_and_retried) {
  std::atomic<int> left{3};
  server_->before = [&](const HttpCall& call, HttpConnection& client) {
    if (--left < 0) return false;
    S3Server::answer_error(call, client, left == 1 ? "400 Bad Request" : "503 Slow Down",
                           left == 1 ? "RequestTimeout" : "SlowDown");
    return true;
  };
  EXPECT_EQ(read()->text, kBytes.substr(10, 20));
  left = 1;
  EXPECT_EQ(names("s3://bucket"), std::vector<std::string>{"a"});
}

TEST_F(S3Stores, the_clock_of_the_server_counts) {
  for (const std::int64_t offset : {-100'000, 100'000}) {
    setup_.clock_offset_s = offset;
    restart(setup_);
    const auto good = read();
    ASSERT_TRUE(good) << good.error().describe();
    const int before = server_->http().requests();
    EXPECT_TRUE(read());
    EXPECT_EQ(server_->http().requests(), before + 1);
  }
}

TEST_F(S3Stores, the_region_is_learned_from_the_server) {
  setup_.region = "eu-west-3";
  restart(setup_);
  EXPECT_TRUE(read());
  const int before = server_->http().requests();
  EXPECT_EQ(names("s3://bucket"), std::vector<std::string>{"a"});
  EXPECT_EQ(server_->http().requests(), before + 1);
}

TEST_F(S3Stores, a_token_that_expires_in_mid_epoch_is_replaced) {
  setup_.session_token = "token-0";
  server_ = std::make_unique<S3Server>(setup_);
  server_->put("bucket/a", kBytes);
  std::atomic<int> fetches{0};
  S3Options options = options_for(*server_);
  options.credentials = [&]() -> Result<S3Credentials> {
    const std::string number = std::to_string(fetches++);
    server_->change_token("id-" + number, "secret-" + number, "token-" + number);
    // It expires before its time says so only for the server; here, two seconds are its whole life.
    return S3Credentials{"id-" + number, "secret-" + number, "token-" + number, "",
                         std::chrono::system_clock::now() + std::chrono::seconds(2)};
  };
  store_ = *make_s3_store("s3://bucket", options, impatient());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  int reads = 0;
  while (std::chrono::steady_clock::now() < end) {
    StartedReads some;
    for (int i = 0; i < 20; ++i) some.start(*store_, {"s3://bucket/a", {10, 20, false}, 100, {}});
    for (const auto& answer : some.wait()) {
      ASSERT_TRUE(answer) << answer.error().describe();
      EXPECT_EQ(*answer, kBytes.substr(10, 20));
      ++reads;
    }
  }
  EXPECT_GE(fetches, 2);
  EXPECT_LE(fetches, 10) << "not one for each request";
  EXPECT_GT(reads, 100);
}

TEST_F(S3Stores, anonymous_requests_are_not_signed) {
  setup_.is_public = true;
  restart(setup_);
  std::atomic<int> signatures{0};
  server_->before = [&](const HttpCall& call, HttpConnection&) {
    signatures += call.headers.contains("authorization") ? 1 : 0;
    return false;
  };
  S3Options options = options_for(*server_);
  options.credentials = nullptr;
  options.is_anonymous = true;
  store_ = *make_s3_store("s3://bucket", options, impatient());
  EXPECT_TRUE(read());
  EXPECT_EQ(names("s3://bucket"), std::vector<std::string>{"a"});
  EXPECT_EQ(signatures, 0);
}

TEST_F(S3Stores, google_takes_a_bearer_token) {
  setup_.is_public = true;
  restart(setup_);
  std::string authorization;
  server_->before = [&](const HttpCall& call, HttpConnection&) {
    authorization = call.header("authorization");
    return false;
  };
  S3Options options = options_for(*server_);
  options.credentials = []() -> Result<S3Credentials> {
    S3Credentials credentials;
    credentials.bearer_token = "ya29.token";
    return credentials;
  };
  store_ = *make_s3_store("gs://bucket", options, impatient());
  EXPECT_TRUE(read("gs://bucket/a"));
  EXPECT_EQ(authorization, "Bearer ya29.token");
}

TEST_F(S3Stores, requester_pays_and_headers_are_sent_and_signed) {
  S3Options options = options_for(*server_);
  options.requester_pays = true;
  options.headers = {"x-amz-expected-bucket-owner: 1"};
  std::string payer, owner;
  server_->before = [&](const HttpCall& call, HttpConnection&) {
    payer = call.header("x-amz-request-payer");
    owner = call.header("x-amz-expected-bucket-owner");
    return false;
  };
  store_ = *make_s3_store("s3://bucket", options, impatient());
  EXPECT_TRUE(read());
  EXPECT_EQ(payer, "requester");
  EXPECT_EQ(owner, "1");
}

TEST_F(S3Stores, faults_of_three_percent_of_the_requests_lose_nothing) {
  std::atomic<int> number{0};
  server_->before = [&](const HttpCall& call, HttpConnection& client) {
    const int which = ++number % 100;
    if (which == 13) S3Server::answer_error(call, client, "503 Slow Down", "SlowDown");
    if (which == 47) client.reset();
    if (which == 71) client.stall();
    return which == 13 || which == 47 || which == 71;
  };
  HttpOptions options = easily_bored();
  options.stall_after = std::chrono::milliseconds(2'000);
  options.hedge_after = std::chrono::milliseconds(100);
  store_ = *s3_store_on(*server_, options);
  StartedReads some;
  for (std::uint64_t i = 0; i < 1000; ++i) some.start(*store_, {"s3://bucket/a", {i * 50, 40, false}, 100, {}});
  const auto answers = some.wait();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i]) << answers[i].error().describe();
    EXPECT_EQ(*answers[i], kBytes.substr(i * 50, 40));
  }
}

TEST_F(S3Stores, an_object_that_changes_is_noticed) {
  auto object = store_->open("s3://bucket/a");
  ASSERT_TRUE(object);
  server_->put("bucket/a", counted_text(100'000, 1));
  std::vector<std::byte> out(10);
  EXPECT_EQ((*object)->read_at(0, out).error().code, ErrorCode::kChanged);
}

TEST_F(S3Stores, listings_that_make_no_sense_are_errors) {
  static constexpr std::array<const char*, 3> bodies = {
      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>same</NextContinuationToken>"
      "</ListBucketResult>",  // would never end
      "<ListBucketResult><Contents><Key>y/other</Key><Size>1</Size></Contents></ListBucketResult>",
      "<html>login</html>"};
  std::atomic<std::size_t> turn = 0;
  server_->before = [&](const HttpCall&, HttpConnection& client) {
    client.answer_status("200 OK", {}, bodies[turn]);
    return true;
  };
  for (; turn < bodies.size(); ++turn)
    EXPECT_EQ(store_->list("s3://bucket/x").error().code, ErrorCode::kCorrupt) << bodies[turn];
}

}  // namespace
}  // namespace penstock
