// Reads that are no longer wanted, and stores that go away while they read.
#include <gtest/gtest.h>

#include "support/http_reading.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

class HttpClosing : public testing::Test {
 protected:
  void SetUp() override {
    HttpOptions options = impatient();
    options.stall_after = std::chrono::hours(1);
    auto store = make_http_store(options);
    if (!store) GTEST_SKIP() << store.error().message;
    store_ = *store;
  }

  static void stall(const HttpCall& call, HttpConnection& client) {
    if (call.number % 2 == 0) client.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
    client.stall();
  }

  std::shared_ptr<const HttpStore> store_;
  Watchdog watchdog_{"closing an HTTP store"};
};

TEST_F(HttpClosing, reads_that_are_stopped_end_wherever_they_are) {
  HttpServer server(stall);
  std::stop_source stop;
  StartedReads reads;
  for (int i = 0; i < 40; ++i) reads.start(*store_, {server.url(), {}, 100, {}}, stop.get_token());
  while (server.requests() < 8) std::this_thread::yield();
  EXPECT_EQ(reads.calls(), 0u);
  stop.request_stop();
  for (const auto& answer : reads.wait()) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kStopped);
  }
  EXPECT_EQ(store_->counters().in_flight, 0u);
}

TEST_F(HttpClosing, stopping_one_read_leaves_the_others) {
  HttpServer server([](const HttpCall& call, HttpConnection& client) {
    if (call.path == "/stall") return client.stall();
    client.answer(call, "fine");
  });
  std::stop_source stop;
  StartedReads stopped, others;
  stopped.start(*store_, {server.url("/stall"), {}, 100, {}}, stop.get_token());
  std::stop_source already;
  already.request_stop();
  stopped.start(*store_, {server.url("/stall"), {}, 100, {}}, already.get_token());
  for (int i = 0; i < 20; ++i) others.start(*store_, {server.url("/x"), {}, 100, {}});
  stop.request_stop();
  for (const auto& answer : stopped.wait()) EXPECT_EQ(answer.error().code, ErrorCode::kStopped);
  for (const auto& answer : others.wait()) EXPECT_TRUE(answer);
}

TEST_F(HttpClosing, reads_waiting_for_a_retry_are_stopped_too) {
  HttpServer server(
      [](const HttpCall&, HttpConnection& client) { client.answer_status("503 Busy", {"Retry-After: 9"}); });
  HttpOptions options = impatient();
  options.retry.longest_wish = options.retry.give_up_after = std::chrono::hours(1);
  const auto store = *make_http_store(options);
  std::stop_source stop;
  StartedReads reads;
  for (int i = 0; i < 20; ++i) reads.start(*store, {server.url(), {}, 100, {}}, stop.get_token());
  while (server.requests() < 20) std::this_thread::yield();
  stop.request_stop();
  for (const auto& answer : reads.wait()) EXPECT_EQ(answer.error().code, ErrorCode::kStopped);
}

TEST_F(HttpClosing, a_store_that_goes_away_ends_all_its_reads_first) {
  for (const int wait_for : {0, 1, 8}) {
    HttpServer server(stall);
    auto store = *make_http_store(impatient());
    StartedReads reads;
    for (int i = 0; i < 100; ++i) reads.start(*store, {server.url(), {}, 100, {}});
    while (server.requests() < wait_for) std::this_thread::yield();
    store.reset();
    EXPECT_EQ(reads.calls(), 100u);
    for (const auto& answer : reads.wait()) EXPECT_EQ(answer.error().code, ErrorCode::kStopped);
  }
}

TEST_F(HttpClosing, an_object_outlives_its_store_but_reads_no_more) {
  HttpServer server([](const HttpCall& call, HttpConnection& client) { client.answer(call, "0123456789"); });
  auto object = store_->open(server.url());
  ASSERT_TRUE(object);
  store_.reset();
  std::vector<std::byte> out(5);
  EXPECT_EQ((*object)->read_at(0, out).error().code, ErrorCode::kStopped);
}

TEST_F(HttpClosing, the_last_reference_may_go_away_in_a_callback) {
  HttpServer server([](const HttpCall& call, HttpConnection& client) { client.answer(call, "0123456789"); });
  auto memory = std::make_shared<std::vector<std::byte>>(10);
  auto ended = std::make_shared<std::atomic<bool>>(false);
  const HttpStore* store = store_.get();
  store->start_read(
      {server.url(), {}, 10, {}},
      [memory](std::size_t) -> Result<MutableBytes> { return MutableBytes(*memory); }, {},
      [ended, owner = std::move(store_)](Result<ObjectBytes>) mutable {
        owner.reset();
        *ended = true;
      });
  while (!*ended) std::this_thread::yield();
}

TEST_F(HttpClosing, reads_can_be_started_where_others_end) {
  HttpServer server([](const HttpCall& call, HttpConnection& client) { client.answer(call, "0123456789"); });
  auto memory = std::make_shared<std::vector<std::byte>>(10);
  std::atomic<int> left{100};
  const Store::Allocate room = [memory](std::size_t) -> Result<MutableBytes> { return MutableBytes(*memory); };
  Store::Done next = [&](Result<ObjectBytes> result) {
    EXPECT_TRUE(result);
    if (--left > 0) store_->start_read({server.url(), {}, 10, {}}, room, {}, next);
  };
  store_->start_read({server.url(), {}, 10, {}}, room, {}, next);
  while (left > 0) std::this_thread::yield();
  store_.reset();
}

TEST_F(HttpClosing, stores_come_and_go_from_many_threads) {
  HttpServer server([](const HttpCall& call, HttpConnection& client) { client.answer(call, "0123456789"); });
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const auto store = *make_http_store(impatient());
        std::stop_source stop;
        StartedReads reads;
        for (int k = 0; k < 10; ++k) reads.start(*store, {server.url(), {}, 10, {}}, stop.get_token());
        if (i % 2 == 0) stop.request_stop();
        reads.wait();
      }
    });
}

}  // namespace
}  // namespace penstock
