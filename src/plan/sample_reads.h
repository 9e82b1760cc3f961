// Which bytes of shared objects one sample needs.
#pragma once

#include <span>
#include <vector>

#include "penstock/source.h"
#include "source/extent.h"
#include "store/store.h"

namespace penstock {

// Fields of a sample stand close together in a shard: the stretch that holds all of those given that
// are in the same object as `extent`, unless what lies between them costs more than another read.
ByteRange stretch_of(const Source& source, std::span<const std::size_t> fields, std::uint64_t sample,
                     const Extent& extent);

// The read of an extent's stretch. An object of which the sample has all, is read as a whole.
ObjectRead read_of(const Source& source, std::span<const std::size_t> fields, std::uint64_t sample,
                   const Extent& extent);

// Fails where one sample would take more encoded bytes than any may.
Status check_encoded_bytes(std::uint64_t length);

}  // namespace penstock
