// Requests with bodies, signatures, and errors that have a code.
#include "store/http/http_exchange.h"

#include <gtest/gtest.h>

#include <atomic>

#include "store/http/http_store.h"
#include "support/http_reading.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

ConstBytes bytes_of(std::string_view text) { return as_bytes(text.data(), text.size()); }

// Adds the number of the signature; it can be told to have no credential yet.
class CountingSigner final : public RequestSigner {
 public:
  Result<std::vector<HttpHeader>> sign(const UnsignedRequest& request,
                                       std::chrono::system_clock::time_point now) override {
    if (missing > 0) {
      --missing;
      return std::unexpected(Error{ErrorCode::kIo, "no credential yet", {}, true});
    }
    if (is_hopeless) return std::unexpected(Error{ErrorCode::kNoAccess, "no credentials were found", {}, false});
    seen_range = "";
    for (const HttpHeader& header : request.headers)
      if (header.name == "Range") seen_range = header.value;
    time = std::chrono::system_clock::to_time_t(now);
    return std::vector<HttpHeader>{{"Authorization", std::string(request.method) + " " + std::to_string(++signatures)}};
  }
  bool renew() override {
    ++renewals;
    return can_renew;
  }

  std::atomic<int> missing{0}, signatures{0}, renewals{0};
  std::atomic<bool> is_hopeless{false}, can_renew{true};
  std::atomic<std::int64_t> time{0};
  std::string seen_range;
};

// The code is the body.
class CodeJudge final : public AnswerJudge {
 public:
  Verdict judge(const ServiceAnswer& answer, Verdict usual) override {
    const auto is = [&](std::string_view code) { return answer.body.find(code) != answer.body.npos; };
    if (usual.next != Verdict::Next::kAccept) usual.message = std::string(answer.body);
    if (is("Slow")) usual.next = Verdict::Next::kRetry;
    if (is("Skewed")) usual.next = Verdict::Next::kSignAgain;
    if (is("Expired")) usual.next = Verdict::Next::kRenew;
    if (is("Bucket")) usual.code = ErrorCode::kIo;
    if (is("Elsewhere")) {
      usual.next = Verdict::Next::kRedirect;
      usual.location = answer.header("x-place");
    }
    return usual;
  }
};

class HttpExchanges : public testing::Test {
 protected:
  void SetUp() override {
    HttpOptions options = impatient();
    options.signer = signer_;
    options.judge = std::make_shared<CodeJudge>();
    auto store = make_http_store(std::move(options));
    if (!store) GTEST_SKIP() << store.error().message;
    store_ = *store;
  }
  Result<HttpAnswer> send(const HttpServer& server, const std::string& method, std::string_view body = "") {
    HttpExchange exchange;
    exchange.key = "the-key";
    exchange.url = server.url("/x?a=b");
    exchange.method = method;
    exchange.headers = {{"X-Kind", "test"}};
    exchange.body = bytes_of(body);
    exchange.max_answer_bytes = 100;
    return store_->exchange(exchange);
  }
  Result<TextRead> read(const HttpServer& server) {
    return read_text(*store_, {server.url("/x"), {10, 20, false}, 100, {}});
  }

  std::shared_ptr<CountingSigner> signer_ = std::make_shared<CountingSigner>();
  std::shared_ptr<const HttpStore> store_;
  Watchdog watchdog_{"HTTP exchanges"};
};

TEST_F(HttpExchanges, send_bodies_and_bring_answers) {
  const std::string body = counted_text(3'000'000);
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    const bool is_right = call.path == "/x?a=b" && call.header("x-kind") == "test" &&
                          call.header("content-type").empty() && call.header("expect").empty() &&
                          call.body == (call.method == "PUT" ? body : "") &&
                          (call.method == "DELETE" || !call.header("content-length").empty());
    client.answer_status(is_right ? "201 Made" : "400 Odd", {"X-Part: 7"}, call.method);
  });
  for (const char* method : {"PUT", "POST", "DELETE"}) {
    const auto answer = send(server, method, method == std::string("PUT") ? body : "");
    ASSERT_TRUE(answer) << method << answer.error().describe();
    EXPECT_EQ(answer->status, 201);
    EXPECT_EQ(answer->header("x-part"), "7");
    EXPECT_EQ(answer->body, method);
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpExchanges, are_signed_and_sent_whole_at_every_try) {
  const std::string body = counted_text(200'000);
  std::mutex mutex;
  std::vector<std::string> signatures;
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    const std::lock_guard lock(mutex);
    signatures.push_back(call.header("authorization"));
    EXPECT_EQ(call.body.size(), body.size());
    if (signatures.size() == 1) {
      client.answer_status("503 Busy");
      return client.close();  // so that curl does not repeat the next one by itself
    }
    if (signatures.size() == 2) return client.reset();
    if (signatures.size() == 3) return client.answer_status("400 Bad", {}, "Slow down");
    client.answer_status("200 OK");
  });
  ASSERT_TRUE(send(server, "PUT", body));
  EXPECT_EQ(signatures, (std::vector<std::string>{"PUT 1", "PUT 2", "PUT 3", "PUT 4"}));
}

TEST_F(HttpExchanges, fail_with_what_the_service_says) {
  HttpServer server([](const HttpCall& call, HttpConnection& client) {
    if (call.method == "PUT") return client.answer_status("403 No", {}, "Denied: you may not");
    client.answer_status("200 OK", {}, call.method == "POST" ? "Slow" : std::string(101, 'x'));
  });
  const auto denied = send(server, "PUT", "body");
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, ErrorCode::kNoAccess);
  EXPECT_EQ(denied.error().message, "Denied: you may not");
  EXPECT_EQ(denied.error().where.uri, "the-key");
  EXPECT_EQ(send(server, "POST").error().code, ErrorCode::kIo) << "an answer may turn out to be an error at its end";
  EXPECT_EQ(send(server, "GET").error().code, ErrorCode::kTooLarge);
}

TEST_F(HttpExchanges, wait_for_a_credential_and_fail_without_one) {
  HttpServer server([&](const HttpCall&, HttpConnection& client) { client.answer_status("200 OK"); });
  signer_->missing = 3;
  EXPECT_TRUE(send(server, "GET"));
  EXPECT_EQ(signer_->missing, 0);
  EXPECT_EQ(server.requests(), 1) << "nothing is sent without a signature";
  signer_->is_hopeless = true;
  const auto failed = send(server, "GET");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kNoAccess);
  EXPECT_EQ(failed.error().message, "no credentials were found");
}

TEST_F(HttpExchanges, renew_a_credential_that_has_expired) {
  const std::string body = counted_text(1000);
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    if (signer_->renewals == 0) return client.answer_status("400 Bad", {}, "Expired");
    client.answer(call, body);
  });
  const auto good = read(server);
  ASSERT_TRUE(good) << good.error().describe();
  EXPECT_EQ(good->text, body.substr(10, 20));
  EXPECT_EQ(signer_->seen_range, "bytes=10-29");
  HttpServer refuses([&](const HttpCall&, HttpConnection& client) { client.answer_status("400 Bad", {}, "Expired"); });
  EXPECT_EQ(read(refuses).error().message.substr(0, 7), "Expired");
  EXPECT_EQ(refuses.requests(), 3) << "it does not help for ever";
  signer_->can_renew = false;
  EXPECT_EQ(read(refuses).error().message, "Expired");
  EXPECT_EQ(refuses.requests(), 4);
}

TEST_F(HttpExchanges, sign_by_the_clock_of_the_server) {
  HttpServer server([&](const HttpCall&, HttpConnection& client) {
    const bool is_right = std::abs(signer_->time - 784'111'777) < 100;
    if (is_right) return client.answer_status("200 OK");
    client.answer_status("403 Skewed", {"Date: Sun, 06 Nov 1994 08:49:37 GMT"}, "Skewed");
  });
  EXPECT_TRUE(send(server, "PUT", "x"));
  EXPECT_EQ(server.requests(), 2);
  EXPECT_TRUE(send(server, "PUT", "x"));
  EXPECT_EQ(server.requests(), 3) << "the difference is remembered";
}

TEST_F(HttpExchanges, are_redirected_by_the_judge_and_send_no_signature_elsewhere) {
  std::string signature = "?", kind = "?";
  HttpServer other([&](const HttpCall& call, HttpConnection& client) {
    signature = call.header("authorization");
    kind = call.header("x-kind");
    client.answer_status(call.body == "body" ? "200 OK" : "400 Bad");
  });
  HttpServer server([&](const HttpCall&, HttpConnection& client) {
    client.answer_status("400 Bad", {"X-Place: " + other.url("/y")}, "Elsewhere");
  });
  const auto answer = send(server, "PUT", "body");
  ASSERT_TRUE(answer) << answer.error().describe();
  EXPECT_EQ(signature, "");
  EXPECT_EQ(kind, "");
}

TEST_F(HttpExchanges, a_missing_object_is_told_from_a_missing_bucket_although_head_answers_have_no_body) {
  std::atomic<const char*> said = "Key";
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    client.answer_status("404 No", {}, call.method == "HEAD" ? "" : said.load());
  });
  EXPECT_EQ(store_->stat(server.url()).error().code, ErrorCode::kNotFound);
  said = "Bucket";
  EXPECT_EQ(store_->stat(server.url()).error().code, ErrorCode::kIo);
}

TEST_F(HttpExchanges, that_are_not_answered_are_given_up) {
  HttpOptions options = easily_bored();
  options.stall_after = std::chrono::milliseconds(100);
  options.retry.max_tries = 2;
  const auto store = *make_http_store(options);
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    if (call.number == 1) return client.stall();
    client.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    while (client.send(" ")) client.pause(std::chrono::milliseconds(20));
  });
  HttpExchange exchange;
  exchange.key = exchange.url = server.url();
  exchange.method = "POST";
  const auto answer = store->exchange(exchange);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kIo) << answer.error().describe();
  EXPECT_EQ(server.requests(), 2);
}

TEST_F(HttpExchanges, end_with_the_store) {
  HttpServer server([&](const HttpCall&, HttpConnection& client) { client.stall(); });
  std::optional<Error> error;
  HttpExchange exchange;
  exchange.key = exchange.url = server.url();
  store_->start_exchange(exchange, {}, [&](Result<HttpAnswer> answer) { error = answer.error(); });
  store_.reset();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kStopped);
}

}  // namespace
}  // namespace penstock
