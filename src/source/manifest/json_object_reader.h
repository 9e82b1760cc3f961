// Splits one JSON object into its members, as pieces of its text.
//
// A JSON library would return values, but a table stores the position of each value in the file and copies
// nothing. Nested values are still validated by the library.
#pragma once

#include <cstdint>
#include <string_view>

#include "penstock/result.h"

namespace penstock {

struct JsonMember {
  enum class Kind : std::uint8_t { kString, kNumber, kOther };
  std::string_view key;  // without its quotes
  bool key_is_escaped = false;
  std::string_view value;  // a string includes its quotes
  bool value_is_escaped = false;
  Kind kind = Kind::kOther;
};

// `object` is borrowed; it must be valid UTF-8 on one line. Escapes in strings are found, but not verified. Error
// messages contain the offset within `object`.
class JsonObjectReader {
 public:
  explicit JsonObjectReader(std::string_view object) : text_(object) {}

  // Returns false after the last member, once only white space is left.
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
