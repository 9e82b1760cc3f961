#include "source/manifest/json_string.h"

#include <charconv>
#include <cstdint>

namespace penstock {
namespace {

// Reads the four hexadecimal digits at `at`; returns false if there are fewer.
bool read_code_unit(std::string_view text, std::size_t at, std::uint32_t& out) {
  if (text.size() < at + 4) return false;
  const char* begin = text.data() + at;
  const auto [end, error] = std::from_chars(begin, begin + 4, out, 16);
  return error == std::errc{} && end == begin + 4;
}

void append_utf8(std::uint32_t point, std::string& out) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  const auto put_rest = [&](unsigned shift) { put(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6);
    put_rest(0);
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put_rest(6);
    put_rest(0);
  } else {
    put(0xF0 | point >> 18);
    put_rest(12);
    put_rest(6);
    put_rest(0);
  }
}

}  // namespace

bool append_unescaped(std::string_view between_quotes, std::string& out) {
  static constexpr std::string_view kEscapeLetters = "\"\\/bfnrt", kUnescapedLetters = "\"\\/\b\f\n\r\t";
  std::string_view left = between_quotes;
  while (true) {
    const std::size_t backslash = left.find('\\');
    out.append(left.substr(0, backslash));
    if (backslash == std::string_view::npos) return true;
    left.remove_prefix(backslash + 1);
    if (left.empty()) return false;
    if (left.front() != 'u') {
      const std::size_t which = kEscapeLetters.find(left.front());
      if (which == std::string_view::npos) return false;
      out.push_back(kUnescapedLetters[which]);
      left.remove_prefix(1);
      continue;
    }
    std::uint32_t point = 0;
    if (!read_code_unit(left, 1, point)) return false;
    left.remove_prefix(5);
    if (point >= 0xDC00 && point <= 0xDFFF) return false;
    if (point >= 0xD800 && point <= 0xDBFF) {
      std::uint32_t low = 0;
      if (!left.starts_with("\\u") || !read_code_unit(left, 2, low) || low < 0xDC00 || low > 0xDFFF)
        return false;
      left.remove_prefix(6);
      point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
    }
    append_utf8(point, out);
  }
}

}  // namespace penstock
