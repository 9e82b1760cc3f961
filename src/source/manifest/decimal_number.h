// Numbers as tables write them: decimal, nothing around them.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock {

struct DecimalNumber {
  enum class Kind : std::uint8_t {
    kNone,     // not a number, or none that a double can hold
    kInteger,  // no point, no exponent, fits 64 bits; `real` is the nearest double
    kReal,     // finite; what lies below the smallest double is zero
  };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;
  double real = 0;
};

// Leading zeros and '+' make no number: "007" is a name, and to read it as 7 would lose it. Nor is there
// nan, inf, hexadecimal or white space. ".5" and "5." are numbers.
DecimalNumber parse_decimal(std::string_view text);

}  // namespace penstock
