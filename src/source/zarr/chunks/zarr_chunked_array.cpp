#include "source/zarr/chunks/zarr_chunked_array.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {

ZarrChunkedArray::ZarrChunkedArray(ZarrArrayParts parts)
    : ChunkedArray(std::move(parts.uri), std::move(parts.spec), std::move(parts.chunk_shape)),
      store_(std::move(parts.store)),
      chain_(std::move(parts.chain)),
      fill_(parts.fill),
      missing_(parts.missing),
      strides_(chunk_shape().size()) {
  auto stride = static_cast<std::int64_t>(size_of(spec().dtype));
  for (std::size_t i = strides_.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(chain_.axes()[i]);
    strides_[axis] = stride;
    stride *= chunk_shape()[axis];
  }
}

Status ZarrChunkedArray::check_number(std::uint64_t chunk) const {
  if (chunk < chunks()) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("chunk {} of {}", chunk, chunks()),
              {uri(), -1, -1, -1});
}

Shape ZarrChunkedArray::grid_position(std::uint64_t chunk) const {
  Shape position(grid().size());
  for (std::size_t axis = position.size(); axis-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(grid()[axis]);
    position[axis] = static_cast<std::int64_t>(chunk % extent);
    chunk /= extent;
  }
  return position;
}

Status ZarrChunkedArray::explained(Status status, std::uint64_t chunk) const {
  if (status) return status;
  Error error = std::move(status).error();
  Where where = stored_at(chunk);
  if (error.where.offset >= 0) {  // relative to the beginning of the chunk
    where.offset = std::max<std::int64_t>(where.offset, 0) + error.where.offset;
    where.length = error.where.length;
  }
  error.where = std::move(where);
  if (!grid().empty())
    error.message = fmt::format("chunk {}: {}", describe_chunk(*this, chunk), error.message);
  return std::unexpected(std::move(error));
}

Status ZarrChunkedArray::decode(std::uint64_t chunk, ConstBytes encoded, MutableBytes out,
                                CodecWorker& worker) const {
  PENSTOCK_CHECK(check_number(chunk));
  return explained(chain_.decode(encoded, out, worker), chunk);
}

Status ZarrChunkedArray::decode_part(std::uint64_t chunk, ConstBytes encoded, std::size_t first_byte,
                                     MutableBytes out, CodecWorker& worker) const {
  PENSTOCK_CHECK(check_number(chunk));
  return explained(chain_.decode_part(encoded, first_byte, out, worker), chunk);
}

Status ZarrChunkedArray::fill_missing(std::uint64_t chunk, MutableBytes out) const {
  PENSTOCK_CHECK(check_number(chunk));
  if (missing_ == MissingChunk::kError)
    return fail(ErrorCode::kNotFound, fmt::format("chunk {} is missing", describe_chunk(*this, chunk)),
                {stored_at(chunk).uri, -1, -1, -1});
  fill_elements(fill_, spec().dtype, swap_bytes(), out);
  return {};
}

}  // namespace penstock
