#include "store/http/http_response.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using Next = Verdict::Next;

ResponseHead head_of(std::initializer_list<const char*> lines) {
  ResponseHead head;
  for (const char* line : lines) head.add_line(line);
  head.add_line("\r\n");
  return head;
}

Asked asked_for(std::uint64_t offset, std::uint64_t length) {
  Asked asked;
  asked.range = {offset, length, false};
  asked.max_bytes = 1 << 20;
  return asked;
}

Asked asked_for_all() {
  Asked asked;
  asked.max_bytes = 1 << 20;
  return asked;
}

TEST(HttpResponse, lengths_are_digits_that_fit) {
  EXPECT_EQ(parse_length("0"), 0u);
  EXPECT_EQ(parse_length("9223372036854775807"), 9223372036854775807u);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "0x10", "1e3", "9223372036854775808",
                           "18446744073709551616", "99999999999999999999999"})
    EXPECT_FALSE(parse_length(text)) << text;
}

TEST(HttpResponse, content_ranges_make_sense_or_are_none) {
  EXPECT_EQ(parse_content_range("bytes 0-9/100"), (ContentRange{true, 0, 9, 100}));
  EXPECT_EQ(parse_content_range("Bytes 5-5/*"), (ContentRange{true, 5, 5, std::nullopt}));
  EXPECT_EQ(parse_content_range("bytes */7"), (ContentRange{false, 0, 0, 7}));
  for (const char* text : {"", "bytes", "bytes 0-9", "bytes 9-0/100", "bytes 0-100/100", "bytes -9/100",
                           "bytes 0-/100", "bytes */*", "items 0-9/100", "bytes 0-9/-1", "bytes 0-9/100,",
                           "bytes 0-18446744073709551615/*", "bytes 0-9/18446744073709551616"})
    EXPECT_FALSE(parse_content_range(text)) << text;
}

TEST(HttpResponse, dates_have_three_forms) {
  for (const char* text :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"})
    EXPECT_EQ(parse_http_date(text), 784111777) << text;
  for (const char* text : {"", "yesterday", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:00:00 GMT",
                           "06 Nov 1994", "Sun, 06 Nov 1994 08:49 GMT"})
    EXPECT_FALSE(parse_http_date(text)) << text;
}

TEST(HttpResponse, retry_after_is_seconds_or_a_date_and_has_a_limit) {
  const auto most = std::chrono::milliseconds(30'000);
  EXPECT_EQ(parse_retry_after("2", 0, most), std::chrono::milliseconds(2000));
  EXPECT_EQ(parse_retry_after("9223372036854775807", 0, most), most);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784111770, most),
            std::chrono::milliseconds(7000));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784111999, most),
            std::chrono::milliseconds(0));
  EXPECT_FALSE(parse_retry_after("soon", 0, most));
  EXPECT_FALSE(parse_retry_after("-5", 0, most));
}

TEST(HttpResponse, weak_and_strong_tags_are_one_version_and_dates_serve_without) {
  const auto strong = head_of({"HTTP/1.1 200 OK", "ETag: \"a\""}),
             weak = head_of({"HTTP/1.1 200", "etag: W/\"a\""});
  EXPECT_EQ(strong.modified_ns(), weak.modified_ns());
  EXPECT_GT(strong.modified_ns(), 0);
  EXPECT_NE(strong.modified_ns(), head_of({"HTTP/1.1 200 OK", "ETag: \"b\""}).modified_ns());
  EXPECT_EQ(head_of({"HTTP/1.1 200 OK", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"}).modified_ns(),
            784111777'000'000'000);
  EXPECT_EQ(head_of({"HTTP/1.1 200 OK"}).modified_ns(), 0);
}

TEST(HttpResponse, a_head_after_100_continue_begins_anew_and_trailers_are_ignored) {
  ResponseHead head;
  for (const char* line : {"HTTP/1.1 100 Continue\r\n", "ETag: \"no\"\r\n", "\r\n", "HTTP/1.1 200 OK\r\n",
                           "Content-Length: 5\r\n", "\r\n", "Content-Length: 6\r\n", "HTTP/1.1 404 No\r\n"})
    head.add_line(line);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.content_length, 5u);
  EXPECT_TRUE(head.etag.empty());
  EXPECT_TRUE(head.oddity.empty());
}

TEST(HttpResponse, only_exactly_what_was_asked_for_is_accepted) {
  const auto verdict = [](const char* range, const char* length = "Content-Length: 10") {
    return judge_response(asked_for(10, 10), head_of({"HTTP/1.1 206 Part", range, length}));
  };
  const auto good = verdict("Content-Range: bytes 10-19/100");
  EXPECT_EQ(good.next, Next::kAccept);
  EXPECT_EQ(good.offset, 10u);
  EXPECT_EQ(good.length, 10u);
  EXPECT_EQ(good.version.size, 100u);
  for (const char* range :
       {"Content-Range: bytes 11-20/100", "Content-Range: bytes 10-18/100", "Content-Range: bytes 10-20/100",
        "Content-Range: bytes 0-99/100", "Content-Range: bytes 10-19/*", "Content-Range: nonsense", "X: y"}) {
    EXPECT_EQ(verdict(range).next, Next::kRetryBriefly) << range;
    EXPECT_EQ(verdict(range).code, ErrorCode::kCorrupt) << range;
  }
  for (const char* length :
       {"Content-Length: 9", "Content-Length: -10", "Content-Length: 18446744073709551616",
        "Content-Encoding: gzip", "Transfer-Encoding: gzip, chunked"})
    EXPECT_EQ(verdict("Content-Range: bytes 10-19/100", length).next, Next::kRetryBriefly) << length;
  EXPECT_EQ(verdict("Content-Range: bytes 10-14/15").code, ErrorCode::kTruncated);
}

TEST(HttpResponse, suffixes_may_be_shorter_only_where_the_object_is) {
  Asked asked = asked_for_all();
  asked.range = {0, 10, true};
  const auto verdict = [&](const char* range) {
    return judge_response(asked, head_of({"HTTP/1.1 206 Part", range}));
  };
  EXPECT_EQ(verdict("Content-Range: bytes 90-99/100").offset, 90u);
  EXPECT_EQ(verdict("Content-Range: bytes 0-4/5").length, 5u);
  EXPECT_EQ(verdict("Content-Range: bytes 91-99/100").next, Next::kRetryBriefly);
  EXPECT_EQ(judge_response(asked, head_of({"HTTP/1.1 200 OK", "Content-Length: 10"})).next, Next::kAccept);
  EXPECT_EQ(judge_response(asked, head_of({"HTTP/1.1 200 OK", "Content-Length: 11"})).code,
            ErrorCode::kUnsupported);
  const auto empty = judge_response(asked, head_of({"HTTP/1.1 416 No", "Content-Range: bytes */0"}));
  EXPECT_EQ(empty.next, Next::kAskOtherwise) << "it is empty, but which version";
  EXPECT_EQ(empty.method, Asked::Method::kHead);
}

TEST(HttpResponse, whole_objects_need_a_length_or_chunks) {
  const auto verdict = [](std::initializer_list<const char*> lines) {
    return judge_response(asked_for_all(), head_of(lines));
  };
  EXPECT_EQ(verdict({"HTTP/1.1 200 OK", "Content-Length: 7"}).length, 7u);
  EXPECT_EQ(verdict({"HTTP/1.1 200 OK", "Transfer-Encoding: chunked"}).next, Next::kAccept);
  EXPECT_FALSE(verdict({"HTTP/1.1 200 OK", "Transfer-Encoding: chunked"}).length);
  EXPECT_EQ(verdict({"HTTP/1.1 200 OK"}).next, Next::kRetryBriefly);
  EXPECT_EQ(verdict({"HTTP/1.1 200 OK", "Content-Length: 7", "Content-Length: 8"}).next, Next::kRetryBriefly);
  EXPECT_EQ(verdict({"HTTP/1.1 200 OK", "Content-Length: 2000000"}).code, ErrorCode::kTooLarge);
  EXPECT_EQ(verdict({"HTTP/1.1 206 Part", "Content-Range: bytes 0-6/7"}).next, Next::kRetryBriefly);
}

TEST(HttpResponse, another_version_is_changed_whatever_else_is_wrong) {
  const auto head = head_of({"HTTP/1.1 206 Part", "Content-Range: bytes 0-9/100", "ETag: \"b\""});
  Asked asked = asked_for(0, 10);
  asked.version = ObjectVersion{100, head.modified_ns()};
  EXPECT_EQ(judge_response(asked, head).next, Next::kAccept);
  asked.version->modified_ns += 1;
  EXPECT_EQ(judge_response(asked, head).code, ErrorCode::kChanged);
  asked.version = ObjectVersion{101, head.modified_ns()};
  EXPECT_EQ(judge_response(asked, head).code, ErrorCode::kChanged);
  EXPECT_EQ(judge_response(asked, head_of({"HTTP/1.1 416 No", "Content-Range: bytes */5"})).code,
            ErrorCode::kChanged);
}

TEST(HttpResponse, only_404_and_410_mean_that_there_is_nothing) {
  for (int status = 201; status <= 999; ++status) {
    if (status == 206) continue;
    const std::string line = "HTTP/1.1 " + std::to_string(status);
    const auto verdict = judge_response(asked_for(0, 10), head_of({line.c_str(), "Content-Length: 10"}));
    EXPECT_NE(verdict.next, Next::kAccept) << status;
    EXPECT_EQ(verdict.code == ErrorCode::kNotFound, status == 404 || status == 410) << status;
    if (status == 429 || status == 500 || status == 503) {
      EXPECT_EQ(verdict.next, Next::kRetry);
    }
    if (status == 401 || status == 403) {
      EXPECT_EQ(verdict.code, ErrorCode::kNoAccess);
    }
  }
}

TEST(HttpResponse, a_server_that_refuses_head_is_asked_for_a_byte) {
  Asked asked;
  asked.method = Asked::Method::kHead;
  for (const char* line : {"HTTP/1.1 403 No", "HTTP/1.1 405 No", "HTTP/1.1 501 No", "HTTP/1.1 200 OK"})
    EXPECT_EQ(judge_response(asked, head_of({line})).method, Asked::Method::kProbe) << line;
  asked.method = Asked::Method::kProbe;
  EXPECT_EQ(range_header(asked), "0-0");
  EXPECT_EQ(judge_response(asked, head_of({"HTTP/1.1 206 P", "Content-Range: bytes 0-0/77"})).version.size,
            77u);
  EXPECT_EQ(judge_response(asked, head_of({"HTTP/1.1 200 OK", "Content-Length: 77"})).version.size, 77u);
  EXPECT_EQ(judge_response(asked, head_of({"HTTP/1.1 416 No"})).method, Asked::Method::kProbeAll);
  EXPECT_EQ(judge_response(asked, head_of({"HTTP/1.1 403 No"})).code, ErrorCode::kNoAccess);
}

}  // namespace
}  // namespace penstock
