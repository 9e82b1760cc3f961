// The shuffle of numcodecs: first all first bytes of the elements, then all second ones, and so on.
#pragma once

#include "base/bytes.h"

namespace penstock {

// Both have the same length, a multiple of `element_bytes`, and share nothing. Thread-safe.
void undo_byte_shuffle(ConstBytes shuffled, std::size_t element_bytes, MutableBytes out);

}  // namespace penstock
