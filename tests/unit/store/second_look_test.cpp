#include "store/second_look.h"

#include <gtest/gtest.h>

#include "store/file/file_store.h"
#include "support/http_reading.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

const std::string kText = counted_text(3000);

class SecondLook : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto store = make_http_store(); !store) GTEST_SKIP() << store.error().message;
  }

  // "Not found" for the first `times` requests.
  static HttpServer::Script missing(int times) {
    return [times](const HttpCall& call, HttpConnection& client) {
      if (call.number <= times) return client.answer_status("404 Not Found");
      client.answer(call, kText);
    };
  }

  Watchdog watchdog_{"second look", std::chrono::seconds(60)};
};

TEST_F(SecondLook, one_not_found_is_not_believed) {
  HttpServer server(missing(1));
  const auto store = with_second_look(*make_http_store(impatient()));
  const auto read = read_text(*store, {server.url(), {}, 3000, {}});
  ASSERT_TRUE(read) << read.error().describe();
  EXPECT_EQ(read->text, kText);
}

TEST_F(SecondLook, nor_of_reads_that_were_started) {
  HttpServer server(missing(1));
  const auto store = with_second_look(*make_http_store(impatient()));
  StartedReads reads;
  reads.start(*store, {server.url(), {}, 3000, {}});
  const auto answers = reads.wait();
  ASSERT_TRUE(answers.front()) << answers.front().error().describe();
  EXPECT_EQ(*answers.front(), kText);
}

TEST_F(SecondLook, two_are) {
  HttpServer server(missing(1000));
  const auto store = with_second_look(*make_http_store(impatient()));
  EXPECT_EQ(read_text(*store, {server.url(), {}, 3000, {}}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(server.requests(), 2);
  StartedReads reads;
  reads.start(*store, {server.url(), {}, 3000, {}});
  EXPECT_EQ(reads.wait().front().error().code, ErrorCode::kNotFound);
  EXPECT_EQ(server.requests(), 4);
}

TEST_F(SecondLook, other_errors_are_passed_on) {
  HttpServer server([](const HttpCall&, HttpConnection& client) { client.answer_status("403 Forbidden"); });
  const auto store = with_second_look(*make_http_store(impatient()));
  EXPECT_EQ(read_text(*store, {server.url(), {}, 3000, {}}).error().code, ErrorCode::kNoAccess);
  EXPECT_EQ(server.requests(), 1);
}

TEST_F(SecondLook, files_are_believed_at_once) {
  const auto files = std::make_shared<const FileStore>();
  EXPECT_EQ(with_second_look(files), files);
}

}  // namespace
}  // namespace penstock
