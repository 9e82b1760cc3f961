#include "decode/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/interruption.h"

namespace penstock {
namespace {

constexpr std::size_t kMaxJsonDepth = 256;

std::unexpected<Error> corrupt_text(std::string_view what, std::size_t offset) {
  return fail(ErrorCode::kCorrupt, std::string(what), {"", static_cast<std::int64_t>(offset), -1, -1});
}

// Returns the length of the character at the start of `text`; 0 if it is invalid. By table 3-7 of the Unicode
// standard, only the range of the second byte depends on the first byte.
std::size_t utf8_length(const std::uint8_t* text, std::size_t left) {
  const auto in = [](std::uint8_t byte, int low, int high) { return byte >= low && byte <= high; };
  const std::uint8_t first = text[0];
  if (first < 0x80) return 1;
  std::size_t length = 0;
  int low = 0x80, high = 0xbf;
  if (in(first, 0xc2, 0xdf)) {
    length = 2;
  } else if (in(first, 0xe0, 0xef)) {
    length = 3;
    if (first == 0xe0) low = 0xa0;   // else overlong
    if (first == 0xed) high = 0x9f;  // else a surrogate
  } else if (in(first, 0xf0, 0xf4)) {
    length = 4;
    if (first == 0xf0) low = 0x90;   // else overlong
    if (first == 0xf4) high = 0x8f;  // else beyond U+10FFFF
  }
  if (length == 0 || length > left || !in(text[1], low, high)) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if (!in(text[i], 0x80, 0xbf)) return 0;
  return length;
}

// Counts the bytes that the parser has read, for the offset of errors that the parser does not detect itself.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  std::size_t* read;

  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    ++at;
    ++*read;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at == other.at; }
};

// Receives the events of nlohmann's parser and refuses input that the grammar alone would accept.
class JsonCheck final : public nlohmann::json::json_sax_t {
 public:
  explicit JsonCheck(const std::size_t& read) : read_(read) {}

  Error take_error() { return std::move(error_); }

  bool null() override { return goes_on(); }
  bool boolean(bool) override { return goes_on(); }
  bool number_integer(std::int64_t) override { return goes_on(); }
  bool number_unsigned(std::uint64_t) override { return goes_on(); }
  bool number_float(double, const std::string&) override { return goes_on(); }
  bool string(std::string&) override { return goes_on(); }
  bool binary(nlohmann::json::binary_t&) override { return true; }

  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    if (keys_.back().insert(name).second) return true;
    error_ = corrupt_text("JSON: an object has the same key twice", read_).error();
    return false;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::json::exception& error) override {
    // The position is one past the bad byte.
    error_ =
        corrupt_text(error.id == kNumberOverflow ? fmt::format("JSON: number too large ({})", token.substr(0, 40))
                                            : std::string("JSON: not well formed"),
                position == 0 ? 0 : position - 1)
            .error();
    return false;
  }

 private:
  static constexpr int kNumberOverflow = 406;  // nlohmann's number for it

  bool goes_on() {
    if (!interruption_.is_due() || !Interruption::is_requested()) return true;
    error_ = {ErrorCode::kStopped, "stopped while JSON was checked", {}};
    return false;
  }

  bool open() {
    if (keys_.size() < kMaxJsonDepth) {
      keys_.emplace_back();
      return true;
    }
    error_ = corrupt_text(fmt::format("JSON: nested more than {} deep", kMaxJsonDepth), read_ - 1).error();
    return false;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  const std::size_t& read_;
  std::vector<std::set<std::string>> keys_;  // of each open object; arrays have none
  Error error_;
  InterruptionCheck interruption_;
};

}  // namespace

Status check_utf8(ConstBytes bytes) {
  const auto* text = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::size_t at = 0;
  while (at < bytes.size()) {
    while (bytes.size() - at >= sizeof(std::uint64_t)) {  // most text is ASCII
      std::uint64_t eight;
      std::memcpy(&eight, text + at, sizeof(eight));
      if ((eight & 0x8080808080808080u) != 0) break;
      at += sizeof(eight);
    }
    if (at == bytes.size()) break;
    const std::size_t length = utf8_length(text + at, bytes.size() - at);
    if (length == 0) return corrupt_text("text is not UTF-8", at);
    at += length;
  }
  return {};
}

Status check_json(ConstBytes bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // nlohmann's parser takes a zero byte for the end, whatever follows.
  if (const auto zero = text.find('\0'); zero != text.npos) return corrupt_text("JSON: zero byte", zero);
  // It also ignores a byte order mark, which is an error for other parsers, Python's among them.
  if (text.starts_with("\xEF\xBB\xBF")) return corrupt_text("JSON: byte order mark", 0);
  std::size_t read = 0;
  JsonCheck check(read);
  const CountingIterator begin{text.data(), &read}, end{text.data() + text.size(), &read};
  if (nlohmann::json::sax_parse(begin, end, &check)) return {};
  return std::unexpected(check.take_error());
}

Result<std::int64_t> parse_integer(ConstBytes bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  text.remove_suffix(text.size() - (text.find_last_not_of(kSpace) + 1));  // npos + 1 is 0
  const bool plus = text.starts_with('+') && !text.starts_with("+-");     // from_chars knows only '-'
  const char* end = text.data() + text.size();
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data() + (plus ? 1 : 0), end, value);
  if (error == std::errc::result_out_of_range && stop == end)
    return fail(ErrorCode::kUnsupported, fmt::format("'{}' is beyond 64 bits", text.substr(0, 40)));
  if (error != std::errc{} || stop != end)
    return fail(ErrorCode::kCorrupt, fmt::format("'{}' is not a whole number", text.substr(0, 40)));
  return value;
}

}  // namespace penstock
