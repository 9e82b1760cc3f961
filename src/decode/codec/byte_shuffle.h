// The shuffle of numcodecs: it stores the first bytes of all elements, then the second bytes, and so on.
#pragma once

#include "base/bytes.h"

namespace penstock {

// Both spans have the same length, a multiple of `element_bytes`, and do not overlap. Thread-safe.
void undo_byte_shuffle(ConstBytes shuffled, std::size_t element_bytes, MutableBytes out);

}  // namespace penstock
