// Undoes the filters of numcodecs that work on elements, with the same arithmetic as NumPy, so that every bit
// agrees.
//
// Encoded and decoded bytes may be the same memory if the types are equally wide; otherwise they must not
// overlap. Both have the same number of elements. Thread-safe.
#pragma once

#include "base/bytes.h"
#include "decode/codec/codec_chain.h"

namespace penstock {

// Fails if the filter is not defined for these types.
Status check_filter(const DeltaCodec& codec);
Status check_filter(const FixedScaleOffsetCodec& codec);
Status check_filter(const QuantizeCodec& codec);

void undo_filter(const DeltaCodec& codec, ConstBytes encoded, MutableBytes decoded);
void undo_filter(const FixedScaleOffsetCodec& codec, ConstBytes encoded, MutableBytes decoded);
void undo_filter(const QuantizeCodec& codec, ConstBytes encoded, MutableBytes decoded);

}  // namespace penstock
