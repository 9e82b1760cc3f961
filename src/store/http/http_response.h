// The head of an HTTP response, and the decision whether it is what was asked for.
//
// The checks are strict because a server, a proxy or a cache that answers something else (the whole object, other
// bytes, compressed ones, another version) must never become a wrong sample.
// Pure functions of bytes that cannot be trusted; thread-compatible.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "store/store.h"

namespace penstock {

// "bytes 0-99/1000", or "bytes */1000" where the range does not exist.
struct ContentRange {
  bool has_range = false;
  std::uint64_t first = 0, last = 0;
  std::optional<std::uint64_t> total;
  bool operator==(const ContentRange&) const = default;
};
std::optional<ContentRange> parse_content_range(std::string_view text);

// A number of digits only, below 2^63.
std::optional<std::uint64_t> parse_length(std::string_view text);

// Seconds since 1970, from any of the three forms that HTTP allows.
std::optional<std::int64_t> parse_http_date(std::string_view text);

// Seconds since 1970, from "20261119T101500Z" or "2026-11-19T10:15:00Z", also with fractions of a second or with its
// colons percent-encoded.
std::optional<std::int64_t> parse_iso_time(std::string_view text);

// The time that a server asks to wait, at most `most`.
std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view text, std::int64_t now_s,
                                                           std::chrono::milliseconds most);

// The parts of a response's head that matter here.
struct ResponseHead {
  // Adds a line as it was received. A new status line (after "100 Continue") begins a new head.
  void add_line(std::string_view line);

  bool complete = false;  // the empty line was received; later lines are ignored
  int status = 0;
  std::optional<std::uint64_t> content_length;
  bool chunked = false;
  std::string content_range, etag, last_modified, location, retry_after;
  std::string oddity;  // the reason why no body after this head can be trusted

  // A hash of the ETag, or the time of the last change, or 0.
  std::int64_t modified_ns() const;
};

// A request, as far as it decides which answers are right.
struct Asked {
  enum class Method : std::uint8_t {
    kHead,
    kProbe,     // GET of one byte for the size in its Content-Range, if the server refuses HEAD
    kProbeAll,  // GET of everything, cancelled after the head, if that byte does not exist
    kGet,
    kExchange,  // not an object: any answer of success is right
  };
  Method method = Method::kGet;
  ByteRange range;
  // The range is a piece of an object of unknown size, which may end within the range or before it. The whole object is
  // also a valid answer to the first piece.
  bool is_piece = false;
  std::uint64_t max_bytes = 0;
  std::optional<ObjectVersion> version;
  // Errors have a reason in their body, which a HEAD request does not bring; so it is followed by another one.
  bool wants_reasons = false;
};

// ObjectVersion::modified_ns of an object that has this ETag.
std::int64_t version_of_etag(std::string_view etag);

// The value of the Range header; empty if there is none.
std::string range_header(const Asked& asked);

struct Verdict {
  enum class Next : std::uint8_t {
    kAccept,        // the body is what was asked for
    kRetry,         // the server may answer properly later
    kRetryBriefly,  // the answer makes no sense; another server of this name may do better
    kAskOtherwise,  // with another method
    kRedirect,
    kSignAgain,  // the signer, or the engine by the date of the answer, knows now what was wrong with the signature
    kRenew,      // the credential has expired
    kFail,
  };
  Next next = Next::kFail;
  ErrorCode code = ErrorCode::kIo;
  std::string message;
  Asked::Method method = Asked::Method::kGet;  // for kAskOtherwise
  std::string location;                        // for kRedirect, where the answer has no such header

  // For kAccept:
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;  // of the body; empty: the body ends with the connection, after at most max_bytes
  ObjectVersion version;                // its size is unknown if the length is
  bool has_body = true;                 // false: the body is not part of the object
};
Verdict judge_response(const Asked& asked, const ResponseHead& head);

}  // namespace penstock
