// Checks text that comes from files.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

// Fails unless the text is valid UTF-8, without surrogates and overlong forms. Errors contain the offset
// within `text`.
Status check_utf8(ConstBytes text);

// Fails unless the text is one JSON value in UTF-8, nested at most 256 deep, without duplicate keys in an
// object and without NaN and Infinity. Errors contain the offset within `text`.
Status check_json(ConstBytes text);

// Parses a decimal number with an optional sign. White space around it is allowed, as in `cls` files.
Result<std::int64_t> parse_integer(ConstBytes text);

}  // namespace penstock
