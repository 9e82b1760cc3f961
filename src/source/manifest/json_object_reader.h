// The members of one JSON object, as pieces of its text.
//
// Why not a JSON library: it would hand out values, but a table keeps where each stands in the file, and
// copies nothing. Values that nest are checked by the library all the same.
#pragma once

#include <cstdint>
#include <string_view>

#include "penstock/result.h"

namespace penstock {

struct JsonMember {
  enum class Kind : std::uint8_t { kString, kNumber, kOther };
  std::string_view key;  // between its quotes
  bool key_is_escaped = false;
  std::string_view value;  // a string has its quotes
  bool value_is_escaped = false;
  Kind kind = Kind::kOther;
};

// `object` is borrowed, valid UTF-8, one line. Escapes in strings are found, not verified. Errors carry the
// offset within `object` in their text.
class JsonObjectReader {
 public:
  explicit JsonObjectReader(std::string_view object) : text_(object) {}

  // False behind the last member, when nothing but white space is left.
  Result<bool> next(JsonMember& member);

 private:
  std::unexpected<Error> bad(std::string_view what, ErrorCode code = ErrorCode::kCorrupt) const;
  bool accept(char wanted);
  void skip_space();
  Status read_string(std::string_view& between_quotes, bool& escaped);
  Status read_value(JsonMember& member);
  Status read_number();
  bool accept_word(std::string_view word);
  Status read_nested();

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace penstock
