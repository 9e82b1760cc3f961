// Finds the bytes of shared objects that one sample needs.
#pragma once

#include <span>
#include <vector>

#include "penstock/source.h"
#include "source/extent.h"
#include "store/store.h"

namespace penstock {

// The fields of a sample are close together in a shard. Returns the range that holds all given fields that
// are in the same object as `extent`, except those behind a gap that costs more than another read.
ByteRange stretch_of(const Source& source, std::span<const std::size_t> fields, std::uint64_t sample,
                     const Extent& extent);

// Returns the read for that range. An object that belongs to the sample alone is read as a whole.
ObjectRead read_of(const Source& source, std::span<const std::size_t> fields, std::uint64_t sample,
                   const Extent& extent);

// Fails if the encoded bytes of one sample exceed the limit.
Status check_encoded_bytes(std::uint64_t length);

}  // namespace penstock
