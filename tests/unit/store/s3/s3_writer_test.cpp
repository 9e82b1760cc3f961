#include "store/s3/s3_writer.h"

#include <gtest/gtest.h>

#include "store/s3/digest.h"
#include "support/s3_reading.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

constexpr std::size_t kPart = 8 << 20;

class S3Writers : public testing::Test {
 protected:
  void SetUp() override {
    server_.md5 = [](const std::string& bytes) {
      const auto sum = *md5(text_as_bytes(bytes));
      return std::string(reinterpret_cast<const char*>(sum.data()), sum.size());
    };
    auto store = s3_store_on(server_);
    ASSERT_TRUE(store) << store.error().describe();
    store_ = *store;
  }
  // In pieces of a megabyte.
  Status write(const std::string& text) {
    auto writer = store_->create("s3://bucket/x");
    if (!writer) return std::unexpected(writer.error());
    for (std::size_t at = 0; at < text.size(); at += 1'000'000)
      PENSTOCK_CHECK((*writer)->write(text_as_bytes(std::string_view(text).substr(at, 1'000'000))));
    return (*writer)->commit();
  }

  S3Server server_;
  std::shared_ptr<const Store> store_;
  Watchdog watchdog_{"S3 writers"};
};

TEST_F(S3Writers, a_small_object_is_one_request) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kPart}) {
    const std::string text = counted_text(size);
    ASSERT_TRUE(write(text));
    EXPECT_EQ(server_.get("bucket/x"), text);
  }
  EXPECT_EQ(server_.requests_of("PUT"), 3);
  EXPECT_EQ(server_.requests_of("BEGIN"), 0);
}

TEST_F(S3Writers, a_large_object_is_sent_in_parts) {
  const std::string text = counted_text(5 * kPart + 12345);
  const auto written = write(text);
  ASSERT_TRUE(written) << written.error().describe();
  EXPECT_TRUE(server_.get("bucket/x") == text);
  EXPECT_EQ(server_.requests_of("PART"), 6);
  EXPECT_EQ(server_.open_uploads(), 0u);
  EXPECT_GT(server_.http().max_at_once(), 1) << "parts are sent while more are written";
  EXPECT_LE(server_.http().max_at_once(), 4);
}

TEST_F(S3Writers, failures_of_parts_are_tried_again) {
  std::atomic<int> seen{0};
  server_.before = [&](const HttpCall& call, HttpConnection& client) {
    if (call.method != "PUT" || ++seen % 2 == 0) return false;
    if (seen % 4 == 1)
      client.reset();
    else
      S3Server::answer_error(call, client, "503 Slow Down", "SlowDown");
    return true;
  };
  const std::string text = counted_text(3 * kPart + 1);
  const auto written = write(text);
  ASSERT_TRUE(written) << written.error().describe();
  EXPECT_TRUE(server_.get("bucket/x") == text);
}

TEST_F(S3Writers, an_upload_that_dies_before_its_last_part_leaves_the_old_object_and_no_upload) {
  server_.put("bucket/x", "old");
  std::atomic<int> parts{0};
  server_.before = [&](const HttpCall& call, HttpConnection& client) {
    if (call.method != "PUT" || ++parts < 3) return false;
    S3Server::answer_error(call, client, "403 Forbidden", "AccessDenied");
    return true;
  };
  const auto written = write(counted_text(4 * kPart));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kNoAccess) << written.error().describe();
  EXPECT_EQ(written.error().where.uri, "s3://bucket/x");
  EXPECT_EQ(server_.get("bucket/x"), "old");
  EXPECT_EQ(server_.open_uploads(), 0u) << "it was removed";
}

TEST_F(S3Writers, an_upload_whose_end_was_not_received_is_ended_again) {
  std::atomic<int> ends{0};
  server_.before = [&](const HttpCall& call, HttpConnection& client) {
    if (call.method != "POST" || call.path.find("uploadId") == std::string::npos || ++ends > 1) return false;
    client.reset();
    return true;
  };
  const std::string text = counted_text(kPart + 1);
  const auto written = write(text);
  ASSERT_TRUE(written) << written.error().describe();
  EXPECT_TRUE(server_.get("bucket/x") == text);
}

TEST_F(S3Writers, an_upload_whose_answer_was_lost_is_found_by_its_etag) {
  server_.loses_ends = true;
  const std::string text = counted_text(kPart + 1);
  const auto written = write(text);
  ASSERT_TRUE(written) << written.error().describe();
  EXPECT_TRUE(server_.get("bucket/x") == text);
  EXPECT_GE(server_.requests_of("END"), 2) << "the second finds no upload any more";
  EXPECT_EQ(server_.requests_of("HEAD"), 1);
}

TEST_F(S3Writers, an_end_that_fails_after_many_blanks_is_no_success) {
  std::atomic<int> ends{0};
  server_.before = [&](const HttpCall& call, HttpConnection& client) {
    if (call.method != "POST" || call.path.find("uploadId") == std::string::npos || ++ends > 2) return false;
    const std::string rest = ends == 1 ? "<Error><Code>InternalError</Code></Error>" : "<html>login</html>";
    client.answer_status("200 OK", {}, "<?xml version=\"1.0\"?>" + std::string(2000, '\n') + rest);
    return true;
  };
  const auto written = write(counted_text(kPart + 1));
  ASSERT_FALSE(written) << "the second answer says nothing of an upload";
  EXPECT_EQ(written.error().code, ErrorCode::kIo) << written.error().describe();
  EXPECT_EQ(ends, 2) << "the first is tried again";
  EXPECT_EQ(server_.get("bucket/x"), "(none)");
  const std::string text = counted_text(kPart + 1);
  ASSERT_TRUE(write(text));
  EXPECT_TRUE(server_.get("bucket/x") == text);
}

TEST_F(S3Writers, an_upload_that_vanished_is_an_error_although_there_is_another_object) {
  server_.put("bucket/x", "old");
  server_.before = [&](const HttpCall& call, HttpConnection& client) {
    if (call.method != "POST" || call.path.find("uploadId") == std::string::npos) return false;
    S3Server::answer_error(call, client, "404 Not Found", "NoSuchUpload");
    return true;
  };
  const auto written = write(counted_text(kPart + 1));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kIo);
  EXPECT_EQ(server_.get("bucket/x"), "old");
}

TEST_F(S3Writers, an_abandoned_upload_is_removed) {
  {
    auto writer = store_->create("s3://bucket/x");
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->write(text_as_bytes(counted_text(2 * kPart))));
    EXPECT_EQ(server_.open_uploads(), 1u);
    store_.reset();  // a writer may outlive its store
  }
  EXPECT_EQ(server_.open_uploads(), 0u);
  EXPECT_EQ(server_.get("bucket/x"), "(none)");
  EXPECT_EQ(server_.requests_of("ABORT"), 1);
}

TEST_F(S3Writers, names_that_are_no_objects_are_refused) {
  for (const char* key : {"s3://bucket", "s3://bucket/", "s3://bucket/folder/"})
    EXPECT_EQ(store_->create(key).error().code, ErrorCode::kInvalidArgument) << key;
}

}  // namespace
}  // namespace penstock
