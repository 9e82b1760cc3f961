// The filters of numcodecs that work on elements, undone with the very arithmetic NumPy uses, so
// that the last bit agrees.
//
// Encoded and decoded bytes may be the same where the types are equally wide, but must not overlap
// otherwise. Their lengths fit one another. Thread-safe.
#pragma once

#include "base/bytes.h"
#include "decode/codec/codec_chain.h"

namespace penstock {

// Whether the arithmetic is defined for these types.
Status check_filter(const DeltaCodec& codec);
Status check_filter(const FixedScaleOffsetCodec& codec);
Status check_filter(const QuantizeCodec& codec);

void undo_filter(const DeltaCodec& codec, ConstBytes encoded, MutableBytes decoded);
void undo_filter(const FixedScaleOffsetCodec& codec, ConstBytes encoded, MutableBytes decoded);
void undo_filter(const QuantizeCodec& codec, ConstBytes encoded, MutableBytes decoded);

}  // namespace penstock
