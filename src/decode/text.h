// Text that arrives from files: is it what it says it is?
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

// Valid UTF-8 (no surrogates, no overlong forms)? Errors carry the offset within `text`.
Status check_utf8(ConstBytes text);

// One JSON value in UTF-8, nested at most 256 deep, no duplicate keys in an object, no NaN or
// Infinity. Errors carry the offset within `text`.
Status check_json(ConstBytes text);

// A decimal number with optional sign, white space around it allowed (as `cls` files have it).
Result<std::int64_t> parse_integer(ConstBytes text);

}  // namespace penstock
