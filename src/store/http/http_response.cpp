#include "store/http/http_response.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/hash.h"
#include "base/text/lower_case.h"

namespace penstock {
namespace {

constexpr std::size_t kMaxFieldBytes = 8192;
constexpr std::uint64_t kMaxLength = std::numeric_limits<std::int64_t>::max();

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Messages such as "10 bytes of 1000" have no singular.
std::string text_of(const ByteRange& range) {
  if (range.from_end) return fmt::format("the last {} bytes", range.length);
  if (range.length == ByteRange::kToTheEnd) return fmt::format("all from byte {} on", range.offset);
  return fmt::format("bytes {}-{}", range.offset, range.offset + range.length - 1);
}

Verdict verdict(Verdict::Next next, ErrorCode code, std::string message) {
  Verdict out;
  out.next = next;
  out.code = code;
  out.message = std::move(message);
  return out;
}

Verdict ask_with(Asked::Method method) {
  Verdict out;
  out.next = Verdict::Next::kAskOtherwise;
  out.method = method;
  return out;
}

Verdict odd(std::string message, ErrorCode code = ErrorCode::kCorrupt) {
  return verdict(Verdict::Next::kRetryBriefly, code, std::move(message));
}

Verdict accept(std::uint64_t offset, std::optional<std::uint64_t> length, ObjectVersion version,
               bool has_body = true) {
  Verdict out;
  out.next = Verdict::Next::kAccept;
  out.offset = offset;
  out.length = length;
  out.version = version;
  out.has_body = has_body;
  return out;
}

Verdict judge_status(const Asked& asked, const ResponseHead& head) {
  const int status = head.status;
  const auto because = [status](std::string_view what) { return fmt::format("{} (HTTP {})", what, status); };
  const bool is_redirect = status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  if (is_redirect && !head.location.empty()) return verdict(Verdict::Next::kRedirect, ErrorCode::kIo, "");
  const bool needs_reason = asked.wants_reasons && status >= 400 && status < 500;
  if (asked.method == Asked::Method::kHead && (status == 403 || status == 405 || status == 501 || needs_reason))
    return ask_with(Asked::Method::kProbe);
  switch (status) {
    case 404:
    case 410: return verdict(Verdict::Next::kFail, ErrorCode::kNotFound, because("no such object"));
    case 401:
    case 403:
    case 407: return verdict(Verdict::Next::kFail, ErrorCode::kNoAccess, because("access refused"));
    case 408:
    case 425:
    case 429: return verdict(Verdict::Next::kRetry, ErrorCode::kIo, because("server asks to come later"));
    case 501:
    case 505: return verdict(Verdict::Next::kFail, ErrorCode::kIo, because("server failed"));
    default: break;
  }
  if (status >= 500) return verdict(Verdict::Next::kRetry, ErrorCode::kIo, because("server failed"));
  if (status >= 400) return verdict(Verdict::Next::kFail, ErrorCode::kIo, because("request refused"));
  return odd(because("an answer that was not asked for"));
}

Verdict changed(const ObjectVersion& now, const ObjectVersion& before) {
  return verdict(Verdict::Next::kFail, ErrorCode::kChanged,
                 fmt::format("object changed while in use ({} bytes now, {} before)", now.size, before.size));
}

// Status 416. An empty object has no ranges, so a request for all of it may get this answer.
Verdict judge_unsatisfiable(const Asked& asked, const ResponseHead& head) {
  const auto content_range = parse_content_range(head.content_range);
  const std::optional<std::uint64_t> total = content_range ? content_range->total : std::nullopt;
  if (total && asked.version && asked.version->size != *total) return changed({*total, 0}, *asked.version);
  if (asked.method == Asked::Method::kProbe) return ask_with(Asked::Method::kProbeAll);
  // Such an answer has no version, so it is requested.
  const bool is_empty =
      (asked.range.from_end || (asked.is_piece && asked.range.offset == 0)) && total.value_or(0) == 0;
  // Some servers (Ceph) do not tell the size here.
  const bool is_to_the_end = asked.range.length == ByteRange::kToTheEnd && !asked.range.from_end;
  const bool is_at_end = is_to_the_end && asked.range.offset == total.value_or(asked.range.offset);
  if (is_empty || is_at_end) return ask_with(Asked::Method::kHead);
  return verdict(Verdict::Next::kFail, ErrorCode::kTruncated,
                 total
                     ? fmt::format("object ends at {} bytes, {} were asked for", *total, text_of(asked.range))
                     : fmt::format("object ends before {}", text_of(asked.range)));
}

Verdict judge_part(const Asked& asked, const ResponseHead& head) {
  const auto range = parse_content_range(head.content_range);
  if (!range || !range->has_range || !range->total)
    return odd(fmt::format("answer with part of an object does not say which ({} were asked for)",
                           text_of(asked.range)));
  const std::uint64_t total = *range->total, length = range->last - range->first + 1;
  const ObjectVersion version{total, head.modified_ns()};
  if (asked.version && *asked.version != version) return changed(version, *asked.version);
  if (asked.method == Asked::Method::kProbe) return accept(0, 0, version, false);

  std::uint64_t first = asked.range.offset, last = total - 1;
  if (asked.range.from_end) {
    first = total - std::min(total, asked.range.length);
  } else if (asked.range.length != ByteRange::kToTheEnd) {
    last = asked.range.offset + (asked.range.length - 1);
    if (last < asked.range.offset) last = ByteRange::kToTheEnd;
    if (last >= total && range->first == first && range->last == total - 1 && !asked.is_piece)
      return verdict(Verdict::Next::kFail, ErrorCode::kTruncated,
                     fmt::format("object ends at {} bytes, {} were asked for", total, text_of(asked.range)));
    last = std::min(last, total - 1);
  }
  if (range->first != first || range->last != last)
    return odd(fmt::format("server answered bytes {}-{} of {}, but {} were asked for", range->first,
                           range->last, total, text_of(asked.range)));
  if (!head.chunked && head.content_length && *head.content_length != length)
    return odd(fmt::format("answer of {} bytes claims to hold {}", *head.content_length, length));
  const std::uint64_t wanted = asked.is_piece ? total : length;
  if (wanted > asked.max_bytes)
    return verdict(Verdict::Next::kFail, ErrorCode::kTooLarge,
                   fmt::format("{} bytes, at most {} expected", wanted, asked.max_bytes));
  return accept(first, length, version);
}

Verdict judge_whole(const Asked& asked, const ResponseHead& head) {
  const std::optional<std::uint64_t> length = head.chunked ? std::nullopt : head.content_length;
  const ObjectVersion version{length.value_or(0), head.modified_ns()};
  const bool is_version_known = asked.version.has_value();
  if (is_version_known &&
      (version.modified_ns != asked.version->modified_ns || (length && *length != asked.version->size)))
    return changed(version, *asked.version);
  if (asked.method != Asked::Method::kGet) {
    if (!length && asked.method == Asked::Method::kHead) return ask_with(Asked::Method::kProbe);
    if (!length) return odd("server does not tell the size of the object", ErrorCode::kUnsupported);
    return accept(0, 0, version, false);
  }
  const ByteRange& range = asked.range;
  const bool is_all = range.is_whole() || (asked.is_piece && range.offset == 0) ||
                      (length && range.from_end && *length <= range.length) ||
                      (length && !range.from_end && range.offset == 0 && *length == range.length);
  if (!is_all)
    return odd(fmt::format("server ignores ranges ({} were asked for)", text_of(range)),
               ErrorCode::kUnsupported);
  // Without either of them, a broken connection looks like the end of the body.
  if (!length && !head.chunked) return odd("answer does not tell its length");
  if (length && *length > asked.max_bytes)
    return verdict(Verdict::Next::kFail, ErrorCode::kTooLarge,
                   fmt::format("{} bytes, at most {} expected", *length, asked.max_bytes));
  return accept(0, length, version);
}

}  // namespace

std::optional<std::uint64_t> parse_length(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > kMaxLength) return std::nullopt;
  return value;
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  text = trimmed(text);
  if (lower_case(text.substr(0, 6)) != "bytes ") return std::nullopt;
  text = trimmed(text.substr(6));
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view range = text.substr(0, slash), total = text.substr(slash + 1);
  ContentRange out;
  if (total != "*") {
    out.total = parse_length(total);
    if (!out.total) return std::nullopt;
  }
  if (range == "*") return out.total ? std::optional(out) : std::nullopt;
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parse_length(range.substr(0, dash)), last = parse_length(range.substr(dash + 1));
  if (!first || !last || *first > *last || (out.total && *last >= *out.total)) return std::nullopt;
  out.has_range = true;
  out.first = *first;
  out.last = *last;
  return out;
}

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                        "jul", "aug", "sep", "oct", "nov", "dec"};
  if (text.size() > 64) return std::nullopt;
  // "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"
  std::optional<unsigned> month, day;
  std::optional<int> year;
  std::optional<std::int64_t> seconds;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" ,-\t"), text.size());
    const std::string word = lower_case(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.size() == 8 && word[2] == ':' && word[5] == ':') {
      const auto hour = parse_length(word.substr(0, 2)), minute = parse_length(word.substr(3, 2)),
                 second = parse_length(word.substr(6, 2));
      if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
      seconds = static_cast<std::int64_t>(*hour * 3600 + *minute * 60 + *second);
    } else if (const auto number = word.size() <= 4 ? parse_length(word) : std::nullopt) {
      if (!day && word.size() <= 2)
        day = static_cast<unsigned>(*number);
      else if (!year)
        year = static_cast<int>(*number) + (word.size() > 2 ? 0 : *number < 70 ? 2000 : 1900);
    } else if (const auto found = std::ranges::find(kMonths, word); found != kMonths.end()) {
      month = static_cast<unsigned>(found - kMonths.begin()) + 1;
    }
  }
  if (!month || !day || !year || !seconds) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{*month},
                                         std::chrono::day{*day}};
  if (!date.ok()) return std::nullopt;
  return std::int64_t{std::chrono::sys_days(date).time_since_epoch().count()} * 86400 + *seconds;
}

std::optional<std::int64_t> parse_iso_time(std::string_view given) {
  if (given.size() > 64) return std::nullopt;
  std::string text(given);
  for (std::size_t at = text.find('%'); at != std::string::npos; at = text.find('%')) text.erase(at, 3);
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  if (text.size() < 16 || text[8] != 'T' || text.back() != 'Z') return std::nullopt;
  const auto number = [&](std::size_t from, std::size_t length) {
    return parse_length(std::string_view(text).substr(from, length));
  };
  const auto year = number(0, 4), month = number(4, 2), day = number(6, 2), hour = number(9, 2),
             minute = number(11, 2), second = number(13, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return std::int64_t{std::chrono::sys_days(date).time_since_epoch().count()} * 86'400 +
         static_cast<std::int64_t>(*hour * 3600 + *minute * 60 + *second);
}

std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view text, std::int64_t now_s,
                                                           std::chrono::milliseconds most) {
  text = trimmed(text);
  std::int64_t seconds = 0;
  if (const auto number = parse_length(text)) {
    seconds = static_cast<std::int64_t>(*number);
  } else if (const auto date = parse_http_date(text)) {
    seconds = std::max<std::int64_t>(*date - now_s, 0);
  } else {
    return std::nullopt;
  }
  // Compared in seconds, because the milliseconds may overflow.
  if (seconds > most.count() / 1000) return most;
  return std::chrono::milliseconds(seconds * 1000);
}

void ResponseHead::add_line(std::string_view line) {
  if (line.starts_with("HTTP/") && (status == 0 || (status >= 100 && status < 200 && complete))) {
    *this = {};
    const std::size_t space = line.find(' ');
    const auto code =
        space == std::string_view::npos ? std::nullopt : parse_length(trimmed(line.substr(space, 4)));
    status = code && *code >= 100 && *code <= 999 ? static_cast<int>(*code) : 999;
    if (status == 999) oddity = "answer without a status";
    return;
  }
  if (complete) return;  // trailers
  line = trimmed(line);
  if (line.empty()) {
    complete = true;
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string name = lower_case(line.substr(0, colon));
  const std::string_view value = trimmed(line.substr(colon + 1));
  const auto keep = [&](std::string& field) {
    if (value.size() > kMaxFieldBytes)
      oddity = fmt::format("{} of {} bytes", name, value.size());
    else if (!field.empty() && field != value)
      oddity = fmt::format("answer with two {}", name);
    else
      field = value;
  };
  if (name == "content-length") {
    const auto length = parse_length(value);
    if (!length || (content_length && *content_length != *length))
      oddity = fmt::format("odd Content-Length \"{}\"", value.substr(0, 40));
    content_length = length;
  } else if (name == "content-range") {
    keep(content_range);
  } else if (name == "etag") {
    keep(etag);
  } else if (name == "last-modified") {
    keep(last_modified);
  } else if (name == "location") {
    keep(location);
  } else if (name == "retry-after") {
    keep(retry_after);
  } else if (name == "transfer-encoding") {
    const std::string encoding = lower_case(value);
    if (encoding == "chunked")
      chunked = true;
    else if (encoding != "identity")
      oddity = fmt::format("answer encoded as {}, which was not asked for", encoding.substr(0, 40));
  } else if (name == "content-encoding") {
    const std::string encoding = lower_case(value);
    if (!encoding.empty() && encoding != "identity")
      oddity = fmt::format("answer compressed as {}, which was not asked for", encoding.substr(0, 40));
  }
}

std::int64_t version_of_etag(std::string_view etag) {
  // A proxy that compresses makes a strong tag weak; the object is the same.
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.empty()) return 0;
  const std::uint64_t hash = hash_text(etag, 0x9E3779B97F4A7C15u) & kMaxLength;
  return hash == 0 ? 1 : static_cast<std::int64_t>(hash);
}

std::int64_t ResponseHead::modified_ns() const {
  if (const std::int64_t version = version_of_etag(etag); version != 0) return version;
  const auto seconds = parse_http_date(last_modified);
  return seconds && *seconds > 0 && *seconds < 9'000'000'000 ? *seconds * 1'000'000'000 : 0;
}

std::string range_header(const Asked& asked) {
  if (asked.method == Asked::Method::kHead || asked.method == Asked::Method::kProbeAll ||
      asked.method == Asked::Method::kExchange)
    return {};
  if (asked.method == Asked::Method::kProbe) return "0-0";
  const ByteRange& range = asked.range;
  if (range.is_whole()) return {};
  if (range.from_end) return fmt::format("-{}", std::min(range.length, kMaxLength));
  if (range.length == ByteRange::kToTheEnd) return fmt::format("{}-", range.offset);
  return fmt::format("{}-{}", range.offset, range.offset + (range.length - 1));
}

Verdict judge_response(const Asked& asked, const ResponseHead& head) {
  if (asked.method == Asked::Method::kExchange && head.status >= 200 && head.status < 300) {
    if (!head.oddity.empty()) return odd(head.oddity);
    return accept(0, std::nullopt, {});
  }
  if (head.status == 416 && !range_header(asked).empty()) return judge_unsatisfiable(asked, head);
  if (head.status != 200 && head.status != 206) return judge_status(asked, head);
  if (!head.oddity.empty()) return odd(head.oddity);
  if (head.status == 200) return judge_whole(asked, head);
  if (range_header(asked).empty()) return odd("answer with part of an object, all of which was asked for");
  return judge_part(asked, head);
}

}  // namespace penstock
