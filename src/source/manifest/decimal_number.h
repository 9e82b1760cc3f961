// Parses decimal numbers as tables contain them.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock {

struct DecimalNumber {
  enum class Kind : std::uint8_t {
    kNone,  // not a number, or one that overflows a double
    kInteger,  // no point, no exponent, fits 64 bits; `real` is the nearest double
    kReal,  // finite; a number below the smallest double is zero
  };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;
  double real = 0;
};

// Text with leading zeros or '+' is not a number: "007" is a name that 7 would lose. nan, inf, hexadecimal numbers
// and white space are not accepted either. ".5" and "5." are numbers.
DecimalNumber parse_decimal(std::string_view text);

}  // namespace penstock
