#include "store/http/http_store.h"

#include <gtest/gtest.h>

#include "support/http_reading.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

class HttpStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    auto store = make_http_store(impatient());
    if (!store) GTEST_SKIP() << store.error().message;
    store_ = *store;
  }
  const HttpStore& store() const { return *store_; }

  std::shared_ptr<const HttpStore> store_;
  Watchdog watchdog_{"HTTP store"};
};

const std::string kBody = counted_text(1000);

void serve_body(const HttpCall& call, HttpConnection& client) { client.answer(call, kBody); }

TEST_F(HttpStoreTest, reads_whole_objects_ranges_and_ends_in_one_request_each) {
  HttpServer server(serve_body);
  const auto read = [&](ByteRange range) { return read_text(store(), {server.url(), range, 1000, {}}); };
  EXPECT_EQ(read({})->text, kBody);
  EXPECT_EQ(read({100, 50, false})->text, kBody.substr(100, 50));
  EXPECT_EQ(read({990, ByteRange::kToTheEnd, false})->text, kBody.substr(990));
  const auto end = read({0, 10, true});
  EXPECT_EQ(end->text, kBody.substr(990));
  EXPECT_EQ(end->offset, 990u);
  EXPECT_EQ(end->version.size, 1000u);
  EXPECT_EQ(read({0, 5000, true})->text, kBody);
  EXPECT_EQ(server.requests(), 5);
  EXPECT_EQ(server.connections(), 1) << "connections are kept";
}

TEST_F(HttpStoreTest, reads_of_nothing_are_checked_and_empty) {
  HttpServer server(serve_body);
  EXPECT_EQ(read_text(store(), {server.url(), {5, 0, false}, 1000, {}})->text, "");
  EXPECT_EQ(read_text(store(), {server.url(), {0, 0, true}, 1000, {}})->text, "");
  EXPECT_EQ(read_text(store(), {server.url(), {1000, ByteRange::kToTheEnd, false}, 1000, {}})->text, "");
  EXPECT_EQ(read_text(store(), {server.url(), {1001, 0, false}, 1000, {}}).error().code,
            ErrorCode::kTruncated);
}

TEST_F(HttpStoreTest, empty_objects_are_empty_however_they_are_asked_for) {
  HttpServer server([](const HttpCall& call, HttpConnection& client) { client.answer(call, ""); });
  for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{100}, std::uint64_t{1} << 30}) {
    for (const ByteRange range : {ByteRange{}, ByteRange{0, 10, true}}) {
      const auto read = read_text(store(), {server.url(), range, most, {}});
      ASSERT_TRUE(read) << read.error().describe();
      EXPECT_EQ(read->text, "");
      EXPECT_EQ(read->version.size, 0u);
    }
  }
  EXPECT_EQ(read_text(store(), {server.url(), {0, 1, false}, 9, {}}).error().code, ErrorCode::kTruncated);
}

TEST_F(HttpStoreTest, errors_name_the_url_without_its_password_and_the_place) {
  HttpServer server(
      [](const HttpCall&, HttpConnection& client) { client.answer_status("404 Not Found", {}, "sorry"); });
  const std::string url = "http://user:secret@127.0.0.1:" + std::to_string(server.port()) + "/x";
  const auto read = read_text(store(), {url, {7, 20, false}, 100, {}});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(read.error().retryable);
  EXPECT_EQ(read.error().where.uri, server.url());
  EXPECT_EQ(read.error().where.offset, 7);
  EXPECT_EQ(read.error().where.length, 20);
  EXPECT_EQ(server.requests(), 1);
}

TEST_F(HttpStoreTest, sends_the_password_and_asks_for_no_compression) {
  std::string authorization, encoding;
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    authorization = call.header("authorization");
    encoding = call.header("accept-encoding");
    client.answer(call, kBody);
  });
  const std::string url = "http://user:secret@127.0.0.1:" + std::to_string(server.port()) + "/x";
  EXPECT_TRUE(read_text(store(), {url, {}, 1000, {}}));
  EXPECT_EQ(authorization, "Basic dXNlcjpzZWNyZXQ=");
  EXPECT_EQ(encoding, "identity");
}

TEST_F(HttpStoreTest, refusals_are_told_apart) {
  HttpServer server([](const HttpCall& call, HttpConnection& client) {
    client.answer_status(call.path.substr(1) + " Status");
  });
  for (const auto& [status, code] : {std::pair{"404", ErrorCode::kNotFound},
                                     {"410", ErrorCode::kNotFound},
                                     {"401", ErrorCode::kNoAccess},
                                     {"403", ErrorCode::kNoAccess},
                                     {"416", ErrorCode::kTruncated},
                                     {"400", ErrorCode::kIo},
                                     {"418", ErrorCode::kIo},
                                     {"451", ErrorCode::kIo},
                                     {"501", ErrorCode::kIo}}) {
    const int before = server.requests();
    const auto read = read_text(store(), {server.url("/") + status, {5, 5, false}, 100, {}});
    ASSERT_FALSE(read) << status;
    EXPECT_EQ(read.error().code, code) << status;
    EXPECT_FALSE(read.error().retryable) << status;
    EXPECT_EQ(server.requests() - before, 1) << status;
  }
}

TEST_F(HttpStoreTest, an_answer_that_is_too_large_is_not_read) {
  HttpServer server(serve_body);
  int rooms = 0;
  EXPECT_EQ(read_text(store(), {server.url(), {}, 999, {}}, &rooms).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(read_text(store(), {server.url(), {0, 50, false}, 49, {}}, &rooms).error().code,
            ErrorCode::kTooLarge);
  EXPECT_EQ(rooms, 0);
}

TEST_F(HttpStoreTest, a_reader_without_room_gets_its_own_error_back) {
  HttpServer server(serve_body);
  const auto read = store().read({server.url(), {}, 1000, {}}, [](std::size_t) -> Result<MutableBytes> {
    return fail(ErrorCode::kNoMemory, "budget is used up");
  });
  EXPECT_EQ(read.error().message, "budget is used up");
  EXPECT_EQ(server.requests(), 1);
  const auto thrown = store().read({server.url(), {}, 1000, {}},
                                   [](std::size_t) -> Result<MutableBytes> { throw std::bad_alloc(); });
  EXPECT_EQ(thrown.error().code, ErrorCode::kNoMemory);
}

TEST_F(HttpStoreTest, chunked_answers_are_read_within_the_limit) {
  HttpServer server([](const HttpCall&, HttpConnection& client) {
    client.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nETag: \"c\"\r\n\r\n");
    for (int i = 0; i < 4; ++i) client.send("a\r\n0123456789\r\n");
    client.send("0\r\nTrailer: x\r\n\r\n");
  });
  const auto read = read_text(store(), {server.url(), {}, 100, {}});
  ASSERT_TRUE(read) << read.error().describe();
  EXPECT_EQ(read->text, "0123456789012345678901234567890123456789");
  EXPECT_EQ(read->version.size, 40u);
  EXPECT_EQ(read_text(store(), {server.url(), {}, 39, {}}).error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(read_text(store(), {server.url(), {}, 40, {}}));
  const ObjectVersion other{41, read->version.modified_ns};
  EXPECT_EQ(read_text(store(), {server.url(), {}, 100, other}).error().code, ErrorCode::kChanged);
}

TEST_F(HttpStoreTest, a_server_that_refuses_head_is_asked_for_one_byte) {
  HttpServer server([](const HttpCall& call, HttpConnection& client) {
    if (call.method == "HEAD") return client.send("HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n"), void();
    client.answer(call, kBody);
  });
  auto object = store().open(server.url());
  ASSERT_TRUE(object) << object.error().describe();
  EXPECT_EQ((*object)->version().size, 1000u);
  std::string out(10, ' ');
  EXPECT_TRUE((*object)->read_at(3, MutableBytes(reinterpret_cast<std::byte*>(out.data()), 10)));
  EXPECT_EQ(out, kBody.substr(3, 10));
}

TEST_F(HttpStoreTest, an_object_that_changes_is_noticed_with_the_next_answer) {
  std::atomic<int> version{1};
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    client.answer(call, kBody, "\"" + std::to_string(version) + "\"");
  });
  auto object = store().open(server.url());
  ASSERT_TRUE(object);
  std::vector<std::byte> out(10);
  EXPECT_TRUE((*object)->read_at(3, out));
  version = 2;
  const auto status = (*object)->read_at(3, out);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kChanged);
  EXPECT_EQ(status.error().where.offset, 3);
}

TEST_F(HttpStoreTest, large_reads_are_split_over_connections) {
  const std::string body = counted_text((20 << 20) + 12345);
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    if (call.method != "HEAD") client.pause(std::chrono::milliseconds(20));
    client.answer(call, body);
  });
  // The object has an unknown size, a known size, and goes into several pieces of memory.
  int rooms = 0;
  EXPECT_TRUE(read_text(store(), {server.url(), {}, 1 << 30, {}}, &rooms)->text == body);
  EXPECT_EQ(rooms, 1);
  EXPECT_GT(server.connections(), 2);
  EXPECT_TRUE(read_text(store(), {server.url(), {5, 15 << 20, false}, 1 << 30, {}})->text ==
              body.substr(5, 15 << 20));
  auto object = store().open(server.url());
  ASSERT_TRUE(object);
  std::vector<std::byte> first((3 << 20) + 1), second(body.size() - first.size());
  const std::array<MutableBytes, 2> parts = {MutableBytes(first), MutableBytes(second)};
  ASSERT_TRUE((*object)->read_at(0, parts));
  EXPECT_EQ(std::memcmp(first.data(), body.data(), first.size()), 0);
  EXPECT_EQ(std::memcmp(second.data(), body.data() + first.size(), second.size()), 0);
  EXPECT_LE(server.max_at_once(), static_cast<int>(store().counters().limit));
}

TEST_F(HttpStoreTest, parts_of_two_versions_are_never_one_object) {
  const std::string body = counted_text(20 << 20);
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    client.answer(call, body, "\"" + std::to_string(call.number / 2) + "\"");
  });
  EXPECT_EQ(read_text(store(), {server.url(), {}, 1 << 30, {}}).error().code, ErrorCode::kChanged);
  EXPECT_EQ(read_text(store(), {server.url(), {0, 20 << 20, false}, 1 << 30, {}}).error().code,
            ErrorCode::kChanged);
}

TEST_F(HttpStoreTest, a_server_without_ranges_serves_whole_objects) {
  const std::string body = counted_text(9 << 20);
  HttpServer server([&](const HttpCall&, HttpConnection& client) {
    client.answer_status("200 OK", {"ETag: \"1\""}, body);
  });
  EXPECT_TRUE(read_text(store(), {server.url(), {}, 1 << 30, {}})->text == body);
  EXPECT_EQ(server.requests(), 1);
  EXPECT_TRUE(read_text(store(), {server.url(), {0, 9 << 20, true}, 1 << 30, {}})->text == body);
}

TEST_F(HttpStoreTest, more_reads_than_slots_wait_in_order_and_all_end) {
  std::mutex mutex;
  std::vector<int> order;
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    {
      const std::lock_guard lock(mutex);
      order.push_back(std::stoi(call.path.substr(1)));
    }
    client.answer(call, call.path);
  });
  HttpOptions options = impatient();
  options.max_in_flight = 1;
  const auto narrow = *make_http_store(options);
  EXPECT_EQ(narrow->reads_ahead(), 1u);
  StartedReads reads;
  for (int i = 0; i < 50; ++i) reads.start(*narrow, {server.url("/" + std::to_string(i)), {}, 100, {}});
  const auto answers = reads.wait();
  for (int i = 0; i < 50; ++i) {
    const auto& answer = answers[static_cast<std::size_t>(i)];
    ASSERT_TRUE(answer) << answer.error().describe();
    EXPECT_EQ(*answer, "/" + std::to_string(i));
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
  EXPECT_EQ(server.max_at_once(), 1);
  EXPECT_EQ(narrow->counters().requests, 50u);
  EXPECT_EQ(narrow->counters().retries, 0u);
  EXPECT_EQ(narrow->counters().in_flight, 0u);
}

TEST_F(HttpStoreTest, folders_cannot_be_listed) {
  EXPECT_EQ(store().list("http://127.0.0.1/x").error().code, ErrorCode::kUnsupported);
}

TEST_F(HttpStoreTest, keys_that_are_no_urls_are_an_error_at_once) {
  EXPECT_EQ(store().open("/etc/passwd").error().code, ErrorCode::kInvalidArgument);
  StartedReads reads;
  reads.start(store(), {"file:///etc/passwd", {}, 10, {}});
  EXPECT_EQ(reads.wait()[0].error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace penstock
