#include "source/manifest/json_object_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "decode/text.h"

namespace penstock {
namespace {

constexpr std::size_t kMaxNesting = 256;

bool is_json_digit(char letter) { return letter >= '0' && letter <= '9'; }

}  // namespace

Result<bool> JsonObjectReader::next(JsonMember& member) {
  const bool is_first = at_ == 0;
  if (is_first && !accept('{')) return bad("no JSON object");
  if (accept('}')) {
    skip_space();
    if (at_ != text_.size()) return bad("text after the object");
    return false;
  }
  if (!is_first && !accept(',')) return bad("neither ',' nor '}'");
  skip_space();
  PENSTOCK_CHECK(read_string(member.key, member.key_is_escaped));
  if (!accept(':')) return bad("no ':' after a key");
  skip_space();
  PENSTOCK_CHECK(read_value(member));
  return true;
}

std::unexpected<Error> JsonObjectReader::bad(std::string_view what, ErrorCode code) const {
  return fail(code, fmt::format("{}, at byte {} of the row", what, at_));
}

void JsonObjectReader::skip_space() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
}

bool JsonObjectReader::accept(char wanted) {
  skip_space();
  if (at_ >= text_.size() || text_[at_] != wanted) return false;
  ++at_;
  return true;
}

Status JsonObjectReader::read_string(std::string_view& between_quotes, bool& escaped) {
  if (at_ >= text_.size() || text_[at_] != '"') return bad("no string");
  const std::size_t begin = ++at_;
  escaped = false;
  for (; at_ < text_.size(); ++at_) {
    const char letter = text_[at_];
    if (letter == '"') {
      between_quotes = text_.substr(begin, at_ - begin);
      ++at_;
      return {};
    }
    if (letter == '\\') {
      escaped = true;
      ++at_;  // an escaped character never closes the string
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      return bad("a control character within a string");
    }
  }
  at_ = begin - 1;
  return bad("a string that never ends");
}

Status JsonObjectReader::read_value(JsonMember& member) {
  const std::size_t begin = at_;
  const char letter = at_ < text_.size() ? text_[at_] : '\0';
  member.value_is_escaped = false;
  if (letter == '"') {
    std::string_view between_quotes;
    PENSTOCK_CHECK(read_string(between_quotes, member.value_is_escaped));
    member.kind = JsonMember::Kind::kString;
  } else if (letter == '-' || is_json_digit(letter)) {
    PENSTOCK_CHECK(read_number());
    member.kind = JsonMember::Kind::kNumber;
  } else {
    member.kind = JsonMember::Kind::kOther;
    if (letter == '{' || letter == '[') {
      PENSTOCK_CHECK(read_nested());
    } else if (!accept_word("true") && !accept_word("false") && !accept_word("null")) {
      return bad("no JSON value");
    }
  }
  member.value = text_.substr(begin, at_ - begin);
  return {};
}

bool JsonObjectReader::accept_word(std::string_view word) {
  if (!text_.substr(at_).starts_with(word)) return false;
  at_ += word.size();
  return true;
}

// The grammar of JSON numbers is narrower than that of parse_decimal, which then checks the value.
Status JsonObjectReader::read_number() {
  const auto skip_digits = [&] {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_json_digit(text_[at_])) ++at_;
    return at_ > begin;
  };
  const auto skip_one_of = [&](std::string_view letters) {
    if (at_ >= text_.size() || !letters.contains(text_[at_])) return false;
    ++at_;
    return true;
  };
  skip_one_of("-");
  if (!skip_one_of("0") && !skip_digits()) return bad("no digit after '-'");
  if (skip_one_of(".") && !skip_digits()) return bad("no digit after '.'");
  if (skip_one_of("eE")) {
    skip_one_of("+-");
    if (!skip_digits()) return bad("no digit in the exponent");
  }
  return {};
}

// Finds the closing bracket. check_json decides whether the text in between is valid.
Status JsonObjectReader::read_nested() {
  const std::size_t begin = at_;
  std::size_t depth = 0;
  do {
    if (at_ >= text_.size()) {
      at_ = begin;
      return bad("a list or an object that never ends");
    }
    const char letter = text_[at_];
    if (letter == '"') {
      std::string_view between_quotes;
      bool escaped = false;
      PENSTOCK_CHECK(read_string(between_quotes, escaped));
      continue;
    }
    if (letter == '{' || letter == '[') {
      if (++depth > kMaxNesting) return bad(fmt::format("nested beyond {}", kMaxNesting), ErrorCode::kTooLarge);
    } else if (letter == '}' || letter == ']') {
      --depth;
    }
    ++at_;
  } while (depth > 0);
  if (const Status sound = check_json(as_bytes(text_.data() + begin, at_ - begin)); !sound) {
    at_ = begin + static_cast<std::size_t>(std::max<std::int64_t>(sound.error().where.offset, 0));
    return bad(sound.error().message, sound.error().code);
  }
  return {};
}

}  // namespace penstock
