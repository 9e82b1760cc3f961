// A chunked array put together from all its chunks, as a reader does who knows only the interface.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/memory/scratch.h"
#include "source/chunked_array.h"

namespace penstock {

// Its decoded bytes, with the byte order of this machine not yet made.
inline Result<std::vector<std::byte>> read_chunk(const ChunkedArray& array, std::uint64_t chunk) {
  Ledger ledger(64 << 20);
  ScratchBudget budget(ledger, 64 << 20, 0);
  Scratch scratch(budget);
  CodecWorker worker(scratch, 0);
  std::vector<std::byte> encoded, decoded(array.chunk_bytes(chunk));
  const auto place = array.location(chunk);
  if (!place) return std::unexpected(place.error());
  if (place->is_missing) {
    if (const auto filled = array.fill_missing(chunk, decoded); !filled)
      return std::unexpected(filled.error());
    return decoded;
  }
  const auto bytes = array.store().read(place->read, [&](std::size_t size) -> Result<MutableBytes> {
    encoded.resize(size);
    return MutableBytes(encoded);
  });
  if (!bytes) return std::unexpected(bytes.error());
  if (const auto done = array.decode(chunk, bytes->bytes, decoded, worker); !done)
    return std::unexpected(done.error());
  return decoded;
}

// All elements in C order and the byte order of this machine.
inline Result<std::vector<std::byte>> read_whole(const ChunkedArray& array) {
  const std::size_t element = size_of(array.spec().dtype), rank = array.grid().size();
  std::vector<std::byte> out(array.spec().bytes());
  for (std::uint64_t chunk = 0; chunk < array.chunks(); ++chunk) {
    const auto bytes = read_chunk(array, chunk);
    if (!bytes) return std::unexpected(bytes.error());
    const Shape strides = array.chunk_strides(chunk);
    Shape origin(rank), size(rank), at(rank, 0);
    std::uint64_t rest = chunk;
    for (std::size_t d = rank; d-- > 0;) {
      const auto along = static_cast<std::uint64_t>(array.grid()[d]);
      origin[d] = static_cast<std::int64_t>(rest % along) * array.chunk_shape()[d];
      size[d] = std::min(array.chunk_shape()[d], array.spec().shape[d] - origin[d]);
      rest /= along;
    }
    for (std::size_t d = 0; d < rank;) {
      std::size_t from = 0, to = 0;
      for (std::size_t e = 0; e < rank; ++e) {
        from += static_cast<std::size_t>(at[e] * strides[e]);
        to = to * static_cast<std::size_t>(array.spec().shape[e]) +
             static_cast<std::size_t>(origin[e] + at[e]);
      }
      std::byte* target = out.data() + to * element;
      if (from + element > bytes->size())
        return fail(ErrorCode::kInvalidArgument, "strides beyond the chunk");
      std::memcpy(target, bytes->data() + from, element);
      if (array.swap_bytes()) std::reverse(target, target + element);
      for (d = 0; d < rank; ++d) {
        if (++at[d] < size[d]) break;
        at[d] = 0;
      }
    }
  }
  return out;
}

}  // namespace penstock
