// The common part of Zarr arrays, whether a chunk is an object or part of a shard: all chunks have the same size,
// even those that extend beyond the array, and use the same codecs. Thread-safe; this common part is immutable.
#pragma once

#include <memory>
#include <string>

#include "penstock/source.h"
#include "source/chunked_array.h"
#include "source/zarr/metadata/fill_value.h"

namespace penstock {

struct ZarrArrayParts {
  std::shared_ptr<const Store> store;
  std::string uri;
  ArraySpec spec;
  Shape chunk_shape;
  CodecChain chain;  // for chunks of that shape
  FillValue fill;
  MissingChunk missing = MissingChunk::kFillIfGone;
};

class ZarrChunkedArray : public ChunkedArray {
 public:
  Shape chunk_strides(std::uint64_t) const final { return strides_; }
  std::size_t chunk_bytes(std::uint64_t) const final { return chain_.decoded_bytes(); }
  bool swap_bytes() const final { return chain_.swap_bytes(); }
  bool is_plain() const final { return chain_.is_plain(); }

  Status decode(std::uint64_t chunk, ConstBytes encoded, MutableBytes out, CodecWorker& worker) const final;
  std::uint64_t decode_scratch_bytes() const final { return chain_.bytes_between(); }
  bool decodes_parts() const final { return chain_.decodes_parts(); }
  Status decode_part(std::uint64_t chunk, ConstBytes encoded, std::size_t first_byte, MutableBytes out,
                     CodecWorker& worker) const final;
  Status fill_missing(std::uint64_t chunk, MutableBytes out) const final;
  Holder holder(std::uint64_t chunk) const final { return {stored_at(chunk).uri, std::nullopt}; }
  const Store& store() const final { return *store_; }

 protected:
  explicit ZarrChunkedArray(ZarrArrayParts parts);

  // The object that contains a chunk, and its range in the object as far as it is known without reading.
  virtual Where stored_at(std::uint64_t chunk) const = 0;

  const CodecChain& chain() const { return chain_; }
  Status check_number(std::uint64_t chunk) const;
  Shape grid_position(std::uint64_t chunk) const;

 private:
  Status explained(Status status, std::uint64_t chunk) const;

  const std::shared_ptr<const Store> store_;
  const CodecChain chain_;
  const FillValue fill_;
  const MissingChunk missing_;
  Shape strides_;
};

}  // namespace penstock
