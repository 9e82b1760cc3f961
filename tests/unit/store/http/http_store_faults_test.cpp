// Servers and networks that misbehave: every read ends, and with the right bytes or an error.
#include <gtest/gtest.h>

#include "base/random.h"
#include "support/http_reading.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

using Script = HttpServer::Script;

const std::string kBody = counted_text(200'000);
const ByteRange kRange{1000, 5000, false};
const std::string kPart = kBody.substr(1000, 5000);
const char* const kPartHead =
    "HTTP/1.1 206 Part\r\nContent-Length: 5000\r\nContent-Range: bytes 1000-5999/200000\r\n";

class HttpFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto store = make_http_store(); !store) GTEST_SKIP() << store.error().message;
  }

  // The fault for the first `times` requests, then a correct server.
  static Result<TextRead> read_through(const Script& fault, int times, ByteRange range = kRange,
                                       HttpOptions options = impatient()) {
    HttpServer server([&](const HttpCall& call, HttpConnection& client) {
      if (call.number <= times) return fault(call, client);
      client.answer(call, kBody);
    });
    const auto store = *make_http_store(std::move(options));
    return read_text(*store, {server.url(), range, 200'000, {}});
  }

  // It passes: the bytes are right. It stays: an error of this kind that names the place.
  static void expect_survived(const Script& fault, ErrorCode code, ByteRange range = kRange) {
    const std::string wanted = range.is_whole() ? kBody : kPart;
    const auto passed = read_through(fault, 2, range);
    ASSERT_TRUE(passed) << passed.error().describe();
    EXPECT_TRUE(passed->text == wanted);
    const auto stayed = read_through(fault, 1 << 30, range);
    ASSERT_FALSE(stayed);
    EXPECT_EQ(stayed.error().code, code) << stayed.error().describe();
    EXPECT_EQ(stayed.error().retryable, code == ErrorCode::kIo);
    EXPECT_EQ(stayed.error().where.offset, static_cast<std::int64_t>(range.offset));
    if (!range.is_whole()) {
      EXPECT_EQ(stayed.error().where.length, 5000);
    }
    EXPECT_NE(stayed.error().describe().find("http://127.0.0.1"), std::string::npos);
  }

  static Script says(std::string answer) {
    return [answer](const HttpCall&, HttpConnection& client) {
      client.send(answer);
      client.close();
    };
  }

  Watchdog watchdog_{"HTTP faults", std::chrono::seconds(120)};
};

TEST_F(HttpFaults, all_for_a_range) {
  std::atomic<std::size_t> sent{0};
  const std::string huge(64 << 20, 'x');
  expect_survived(
      [&](const HttpCall&, HttpConnection& client) {
        client.send("HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n");
        for (std::size_t at = 0; at < huge.size() && client.send({huge.data() + at, 65536}); at += 65536)
          sent += 65536;
      },
      ErrorCode::kUnsupported);
  EXPECT_LT(sent, huge.size()) << "nobody reads what was not asked for";
}

TEST_F(HttpFaults, a_server_without_ranges_is_not_asked_again_for_each_of_many) {
  std::atomic<bool> gives_ranges{false};
  std::atomic<int> calls{0};
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    ++calls;
    if (gives_ranges) return client.answer(call, kBody);
    client.send("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + kBody);
    client.close();
  });
  const auto store = *make_http_store(impatient());
  constexpr int kReads = 20;
  for (int i = 0; i < kReads; ++i)
    EXPECT_EQ(read_text(*store, {server.url(), kRange, 200'000, {}}).error().code, ErrorCode::kUnsupported);
  EXPECT_LE(calls, kReads + 2);
  gives_ranges = true;
  EXPECT_TRUE(read_text(*store, {server.url(), kRange, 200'000, {}}));
}

TEST_F(HttpFaults, wrong_or_absent_content_range) {
  for (const char* line :
       {"", "Content-Range: bytes 1001-6000/200000\r\n", "Content-Range: bytes 1000-5998/200000\r\n",
        "Content-Range: bytes 0-199999/200000\r\n", "Content-Range: bytes 1000-5999/*\r\n",
        "Content-Range: bytes -1000-5999/200000\r\n"})
    expect_survived(
        says(std::string("HTTP/1.1 206 Part\r\nContent-Length: 5000\r\n") + line + "\r\n" + kPart),
        ErrorCode::kCorrupt);
}

TEST_F(HttpFaults, short_bodies) {
  expect_survived(says(std::string(kPartHead) + "\r\n" + kPart.substr(0, 4999)), ErrorCode::kIo);
  expect_survived(says(std::string(kPartHead) + "\r\n"), ErrorCode::kIo);
  expect_survived(says("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + kBody.substr(0, 100'000)),
                  ErrorCode::kIo, {});
}

TEST_F(HttpFaults, connections_reset_at_every_point) {
  const std::string answer = std::string(kPartHead) + "\r\n" + kPart;
  for (const std::size_t cut :
       {std::size_t{0}, std::size_t{5}, std::size_t{30}, answer.size() - 4990, answer.size() - 1})
    expect_survived(
        [&](const HttpCall&, HttpConnection& client) {
          client.send(std::string_view(answer).substr(0, cut));
          client.pause(std::chrono::milliseconds(10));
          client.reset();
        },
        ErrorCode::kIo);
}

TEST_F(HttpFaults, bytes_that_nobody_asked_for_are_not_the_next_answer) {
  // Each answer is followed by another one that is made up, in the same packet or later.
  const std::string made_up(5000, 'x');
  for (const auto delay : {std::chrono::milliseconds(0), std::chrono::milliseconds(30)})
    for (const bool is_head : {false, true}) {
      HttpServer server([&](const HttpCall& call, HttpConnection& client) {
        client.answer(call, kBody);
        client.pause(delay);
        client.send(std::string(kPartHead) + "ETag: \"1\"\r\n\r\n" + made_up);
      });
      const auto store = *make_http_store(impatient());
      // What comes only after the next request was sent is an answer to it, for all that anybody can tell.
      const auto wait_for_the_rest = [&] { std::this_thread::sleep_for(2 * delay + std::chrono::milliseconds(20)); };
      for (int i = 0; i < 3; ++i) {
        if (is_head) {
          ASSERT_TRUE(store->stat(server.url()));
          wait_for_the_rest();
        }
        const auto read = read_text(*store, {server.url(), kRange, 5000, {}});
        ASSERT_TRUE(read) << read.error().describe();
        EXPECT_TRUE(read->text == kPart) << "the answer that was made up";
        wait_for_the_rest();
      }
      EXPECT_EQ(store->counters().retries, 0u) << "a connection that is not used again is no failure";
    }
}

TEST_F(HttpFaults, heads_without_end) {
  const std::string line = "X-Long: " + std::string(1 << 20, 'a') + "\r\n";
  expect_survived(says("HTTP/1.1 206 Part\r\n" + line + kPartHead + "\r\n" + kPart), ErrorCode::kCorrupt);
  std::atomic<std::size_t> sent{0};
  const auto many_lines = [&](const HttpCall&, HttpConnection& client) {
    client.send("HTTP/1.1 206 Part\r\n");
    std::string lines;
    for (int i = 0; i < 1000; ++i) lines += "X-Line: " + std::string(50, 'a') + "\r\n";
    for (int i = 0; i < 1000 && client.send(lines); ++i) sent += lines.size();
    client.close();
  };
  expect_survived(many_lines, ErrorCode::kCorrupt);
  EXPECT_LT(sent, 200u << 20) << "nobody reads them all";
}

TEST_F(HttpFaults, long_bodies) {
  // Beyond a length that was given, bytes are no part of the answer, nor of the next one.
  HttpServer server([](const HttpCall&, HttpConnection& client) {
    client.send(std::string(kPartHead) + "\r\n" + kPart + std::string(100'000, 'x'));
  });
  const auto store = *make_http_store(impatient());
  for (int i = 0; i < 3; ++i) {
    const auto read = read_text(*store, {server.url(), kRange, 5000, {}});
    ASSERT_TRUE(read) << read.error().describe();
    EXPECT_TRUE(read->text == kPart);
  }
  // Where chunks give no length, they are too long for their range.
  expect_survived(
      says("HTTP/1.1 206 Part\r\nTransfer-Encoding: chunked\r\nContent-Range: bytes 1000-5999/200000\r\n"
           "\r\n1389\r\n" +
           kPart + "x\r\n0\r\n\r\n"),
      ErrorCode::kCorrupt);
}

TEST_F(HttpFaults, lengths_that_are_none) {
  for (const char* length :
       {"-1", "-5000", "18446744073709551616", "18446744073709551615", "99999999999999999999999",
        "9223372036854775808", "0x1388", "5000, 5000", "5001"})
    expect_survived(says(std::string("HTTP/1.1 206 Part\r\nContent-Length: ") + length +
                         "\r\nContent-Range: bytes 1000-5999/200000\r\n\r\n" + kPart),
                    ErrorCode::kCorrupt);
  expect_survived(says("HTTP/1.1 200 OK\r\n\r\n" + kBody), ErrorCode::kCorrupt, {});
}

TEST_F(HttpFaults, chunks_that_are_garbage) {
  for (const char* chunks : {"zz\r\nxx\r\n", "-5\r\nxxxxx\r\n", "ffffffffffffffff\r\nxxxxx",
                             "fffffffffffffffff\r\nx", "5\r\nxxxxxyyyyy\r\n0\r\n\r\n", "5\r\nxx"}) {
    const auto read = read_through(
        says(std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") + chunks), 2, {});
    ASSERT_TRUE(read) << chunks << read.error().describe();
    EXPECT_TRUE(read->text == kBody);
  }
}

TEST_F(HttpFaults, answers_that_are_no_http) {
  for (const char* answer : {"", "\r\n\r\n", "hello", "SSH-2.0-OpenSSH\r\n", "HTTP/1.1\r\n\r\n",
                             "HTTP/9.9 206 x\r\n\r\n", "HTTP/1.1 99999 x\r\n\r\n"}) {
    const auto passed = read_through(says(answer), 2);
    ASSERT_TRUE(passed) << answer << ": " << passed.error().describe();
    EXPECT_TRUE(passed->text == kPart);
    EXPECT_FALSE(read_through(says(answer), 1 << 30)) << answer;
  }
}

TEST_F(HttpFaults, compression_nobody_asked_for) {
  expect_survived(says(std::string(kPartHead) + "Content-Encoding: gzip\r\n\r\n" + kPart),
                  ErrorCode::kCorrupt);
  expect_survived(says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 200000\r\n\r\n" + kBody),
                  ErrorCode::kCorrupt, {});
}

TEST_F(HttpFaults, servers_that_fail_or_are_busy) {
  for (const char* status : {"408", "425", "429", "500", "502", "503", "504"})
    expect_survived(
        [&](const HttpCall&, HttpConnection& client) { client.answer_status(status, {}, "busy"); },
        ErrorCode::kIo);
  for (const char* when : {"0", "1", "99999999999999999999", "Sun, 06 Nov 1994 08:49:37 GMT", "soon"})
    expect_survived(
        [&](const HttpCall&, HttpConnection& client) {
          client.answer_status("429 Busy", {std::string("Retry-After: ") + when});
        },
        ErrorCode::kIo);
}

TEST_F(HttpFaults, a_server_that_never_says_anything_is_given_up) {
  HttpServer server([](const HttpCall&, HttpConnection& client) { client.stall(); });
  HttpOptions options = easily_bored();
  options.hedge_after = std::chrono::milliseconds(10);  // second tries must not put it off for ever
  const auto store = *make_http_store(std::move(options));
  const auto got = read_text(*store, {server.url(), kRange, 200'000, {}});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kIo) << got.error().describe();
}

TEST_F(HttpFaults, servers_that_stall_at_every_point) {
  const std::string answer = std::string(kPartHead) + "\r\n" + kPart;
  for (const std::size_t cut : {std::size_t{0}, std::size_t{10}, answer.size() - 5000, answer.size() - 500}) {
    const auto read = read_through(
        [&](const HttpCall&, HttpConnection& client) {
          client.send(std::string_view(answer).substr(0, cut));
          client.stall();
        },
        1, kRange, easily_bored());
    ASSERT_TRUE(read) << read.error().describe();
    EXPECT_TRUE(read->text == kPart);
  }
}

TEST_F(HttpFaults, slow_loris) {
  // A byte at a time of the body, and a line at a time of the head.
  for (const bool in_head : {false, true}) {
    const auto read = read_through(
        [&](const HttpCall&, HttpConnection& client) {
          client.send(in_head ? "HTTP/1.1 206 Part\r\n" : std::string(kPartHead) + "\r\n");
          while (client.pause(std::chrono::milliseconds(20)) && client.send(in_head ? "X: y\r\n" : "x"))
            continue;
        },
        1, kRange, easily_bored());
    ASSERT_TRUE(read) << read.error().describe();
    EXPECT_TRUE(read->text == kPart);
  }
}

TEST_F(HttpFaults, a_late_answer_is_asked_for_again_and_the_first_one_counts) {
  HttpOptions options = impatient();
  options.stall_after = std::chrono::seconds(60);
  options.hedge_after = std::chrono::milliseconds(50);
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    if (call.number % 3 == 0) return client.stall();
    client.answer(call, kBody);
  });
  const auto store = *make_http_store(options);
  for (int i = 0; i < 12; ++i) {
    const auto read = read_text(*store, {server.url(), kRange, 5000, {}});
    ASSERT_TRUE(read) << read.error().describe();
    EXPECT_TRUE(read->text == kPart);
  }
  EXPECT_GT(store->counters().hedges, 0u);
  EXPECT_EQ(store->counters().in_flight, 0u);
}

TEST_F(HttpFaults, a_second_try_that_is_late_too_is_followed_by_a_third) {
  HttpOptions options = impatient();
  options.stall_after = std::chrono::hours(1);
  options.hedge_after = std::chrono::milliseconds(20);
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    if (call.number < 5) return client.stall();
    client.answer(call, kBody);
  });
  const auto store = *make_http_store(options);
  const auto read = read_text(*store, {server.url(), kRange, 5000, {}});
  ASSERT_TRUE(read) << read.error().describe();
  EXPECT_TRUE(read->text == kPart);
}

TEST_F(HttpFaults, nobody_listens_and_no_such_name) {
  int port = 0;
  {
    port = HttpServer([](const HttpCall&, HttpConnection&) {}).port();
  }
  HttpOptions options = impatient();
  options.retry.max_tries = 2;
  const auto store = *make_http_store(options);
  for (const std::string& url :
       {"http://127.0.0.1:" + std::to_string(port) + "/x", std::string("http://no-such-host.invalid/x")}) {
    const auto read = read_text(*store, {url, kRange, 5000, {}});
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kIo)
        << "never kNotFound: nobody said so; " << read.error().describe();
    EXPECT_TRUE(read.error().retryable);
  }
}

TEST_F(HttpFaults, an_outage_passes_without_a_restart) {
  HttpOptions options = impatient();
  options.retry.max_tries = 10'000;
  const auto store = *make_http_store(options);
  auto server = std::make_unique<HttpServer>(
      [](const HttpCall& call, HttpConnection& client) { client.answer(call, kBody); });
  const int port = server->port();
  const std::string url = server->url();
  ASSERT_TRUE(read_text(*store, {url, kRange, 5000, {}}));
  server.reset();
  StartedReads reads;
  for (int i = 0; i < 30; ++i) reads.start(*store, {url, kRange, 5000, {}});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(reads.calls(), 0u);
  EXPECT_LT(store->counters().retries, 40u) << "a dead server is not hammered";
  server = std::make_unique<HttpServer>(
      [](const HttpCall& call, HttpConnection& client) { client.answer(call, kBody); }, port);
  for (const auto& answer : reads.wait()) {
    ASSERT_TRUE(answer) << answer.error().describe();
    EXPECT_TRUE(*answer == kPart);
  }
}

TEST_F(HttpFaults, two_thousand_requests_through_a_bad_network_all_arrive) {
  HttpServer server([](const HttpCall& call, HttpConnection& client) {
    Draws draws(7, 0, static_cast<std::uint64_t>(call.number));
    const double fate = draws.uniform();
    if (fate < 0.01) return client.answer_status("503 Busy");
    if (fate < 0.0125) return client.reset();
    if (fate < 0.015) {
      client.send("HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\nabc");
      return client.reset();
    }
    if (fate < 0.02) return client.stall();
    if (fate < 0.025) {
      client.send("HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\nabc");
      return client.stall();
    }
    client.answer(call, counted_text(20'000, std::stoull(call.path.substr(1))));
  });
  HttpOptions options = easily_bored();
  options.hedge_after = std::chrono::milliseconds(100);
  const auto store = *make_http_store(options);
  StartedReads reads;
  for (int i = 0; i < 2000; ++i) reads.start(*store, {server.url("/" + std::to_string(i)), {}, 1 << 20, {}});
  const auto answers = reads.wait();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i]) << answers[i].error().describe();
    ASSERT_TRUE(*answers[i] == counted_text(20'000, i)) << i;
  }
  EXPECT_EQ(reads.calls(), 2000u) << "each once";
}

}  // namespace
}  // namespace penstock
