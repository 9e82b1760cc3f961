// Reads that somebody waits for: pieces of an object whose size nobody knows are asked for at once.
#include <gtest/gtest.h>

#include "support/http_reading.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMax = 4 << 20, kLikely = 2 << 20;
constexpr std::size_t kPieces = 8;  // of a quarter of a MiB each

class HttpUrgent : public testing::Test {
 protected:
  void SetUp() override {
    auto store = make_http_store(impatient());
    if (!store) GTEST_SKIP() << store.error().message;
    store_ = *store;
  }
  Result<TextRead> read(const HttpServer& server, ByteRange range = {}, int* rooms = nullptr) const {
    return read_text(*store_, {server.url(), range, kMax, {}, kPieces, kLikely}, rooms);
  }

  std::shared_ptr<const HttpStore> store_;
  Watchdog watchdog_{"HTTP store, urgent reads"};
};

bool is_guess(const HttpCall& call) { return !call.header("range").starts_with("bytes=0-"); }

TEST_F(HttpUrgent, objects_of_all_sizes_arrive_whole) {
  for (const std::size_t size : {0u, 1u, 100'000u, 256u << 10, (256u << 10) + 1, 1'500'000u, 2u << 20,
                                 (2u << 20) + 1, 3'000'000u, 4u << 20}) {
    const std::string body = counted_text(size);
    HttpServer server([&](const HttpCall& call, HttpConnection& client) { client.answer(call, body); });
    int rooms = 0;
    const auto got = read(server, {}, &rooms);
    ASSERT_TRUE(got) << size << ": " << got.error().describe();
    EXPECT_TRUE(got->text == body) << size;
    EXPECT_EQ(got->offset, 0u);
    EXPECT_EQ(got->version.size, size);
    EXPECT_EQ(rooms, 1) << size;
  }
}

TEST_F(HttpUrgent, pieces_are_on_their_way_together_also_before_an_answer_came) {
  const std::string body = counted_text(1'500'000);
  std::atomic<int> arrived{0};
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    ++arrived;
    while (arrived < static_cast<int>(kPieces) && client.pause(std::chrono::milliseconds(1))) {}
    client.answer(call, body);
  });
  const auto got = read(server);
  ASSERT_TRUE(got) << got.error().describe();
  EXPECT_TRUE(got->text == body);
}

TEST_F(HttpUrgent, ranges_of_known_length_are_spread_as_well) {
  const std::string body = counted_text(3'000'000);
  HttpServer server([&](const HttpCall& call, HttpConnection& client) { client.answer(call, body); });
  EXPECT_TRUE(read(server, {1000, 2'000'000, false})->text == body.substr(1000, 2'000'000));
  EXPECT_EQ(server.requests(), static_cast<int>(kPieces));
  EXPECT_EQ(read(server, {7, 70, false})->text, body.substr(7, 70));
  EXPECT_EQ(server.requests(), static_cast<int>(kPieces) + 1);
}

TEST_F(HttpUrgent, a_server_without_ranges_serves_whole_objects) {
  const std::string body = counted_text(1'500'000);
  HttpServer server([&](const HttpCall&, HttpConnection& client) {
    client.answer_status("200 OK", {"ETag: \"1\""}, body);
  });
  const auto got = read(server);
  ASSERT_TRUE(got) << got.error().describe();
  EXPECT_TRUE(got->text == body);
}

TEST_F(HttpUrgent, an_answer_of_unknown_length_is_the_whole_object) {
  HttpServer server([](const HttpCall&, HttpConnection& client) {
    client.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n");
  });
  const auto got = read(server);
  ASSERT_TRUE(got) << got.error().describe();
  EXPECT_EQ(got->text, "0123456789");
}

TEST_F(HttpUrgent, guesses_that_fail_are_asked_for_again_once_the_size_is_known) {
  const std::string body = counted_text(1'500'000);
  for (const char* status : {"500 Failed", "503 Busy", "200 OK"}) {
    std::atomic<int> guesses{0};
    HttpServer server([&](const HttpCall& call, HttpConnection& client) {
      if (is_guess(call) && ++guesses < static_cast<int>(kPieces)) return client.answer_status(status);
      while (guesses < static_cast<int>(kPieces) - 1 && client.pause(std::chrono::milliseconds(1))) {}
      client.answer(call, body);
    });
    const auto got = read(server);
    ASSERT_TRUE(got) << status << ": " << got.error().describe();
    EXPECT_TRUE(got->text == body) << status;
  }
}

TEST_F(HttpUrgent, what_is_not_there_is_not_found) {
  HttpServer server([](const HttpCall&, HttpConnection& client) { client.answer_status("404 No"); });
  EXPECT_EQ(read(server).error().code, ErrorCode::kNotFound);
}

TEST_F(HttpUrgent, what_is_too_large_is_not_read) {
  const std::string body = counted_text(kMax + 1);
  HttpServer server([&](const HttpCall& call, HttpConnection& client) { client.answer(call, body); });
  int rooms = 0;
  EXPECT_EQ(read(server, {}, &rooms).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(rooms, 0);
}

TEST_F(HttpUrgent, pieces_of_two_versions_are_never_one_object) {
  const std::string body = counted_text(3'000'000);
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    client.answer(call, body, "\"" + std::to_string(call.number / 2) + "\"");
  });
  EXPECT_EQ(read(server).error().code, ErrorCode::kChanged);
}

TEST_F(HttpUrgent, connections_that_break_are_made_again) {
  const std::string body = counted_text(3'000'000);
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    if (call.number <= 3) return client.reset();  // one fewer than a request is tried
    client.answer(call, body);
  });
  const auto got = read(server);
  ASSERT_TRUE(got) << got.error().describe();
  EXPECT_TRUE(got->text == body);
}

}  // namespace
}  // namespace penstock
