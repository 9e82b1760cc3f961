// An array that is stored in chunks, each of which is read and decoded as a whole: Zarr arrays, and .npy and TIFF
// volumes.
//
// Thread-safe. Immutable after opening, except for a cache of shard indexes. Sources share ownership. Functions that
// read return an error if the data cannot be read or are damaged; the others do not fail.
#pragma once

#include <optional>
#include <string>

#include "decode/codec/codec_chain.h"
#include "penstock/array.h"
#include "store/store.h"

namespace penstock {

// The location of the encoded bytes of a chunk.
struct ChunkLocation {
  ObjectRead read;
  bool is_missing = false;  // the index of the shard says that there is no such chunk, so nothing is to be read
};

class ChunkedArray {
 public:
  virtual ~ChunkedArray() = default;

  const std::string& uri() const { return uri_; }
  const ArraySpec& spec() const { return spec_; }
  // Chunk (i, j, ...) of the grid begins at element (i * c0, j * c1, ...). Chunks are numbered in C order of their
  // positions in the grid.
  const Shape& chunk_shape() const { return chunk_shape_; }
  const Shape& grid() const { return grid_; }
  std::uint64_t chunks() const { return chunks_; }

  // The layout of a decoded chunk in memory: strides in bytes, one per axis of the array. Chunks at the far edges may
  // be smaller or, as in Zarr, extend beyond the array.
  virtual Shape chunk_strides(std::uint64_t chunk) const = 0;
  virtual std::size_t chunk_bytes(std::uint64_t chunk) const = 0;
  virtual bool swap_bytes() const = 0;

  // The next read of a shard index that location() needs; nullopt: location() needs none. The result of the read,
  // including kNotFound for a missing shard, goes to add_index(). Nested shards need several such reads.
  virtual std::optional<ObjectRead> index_read(std::uint64_t) const { return std::nullopt; }
  virtual Status add_index(std::uint64_t, Result<ObjectBytes>) const { return {}; }
  // The object that contains a chunk, found without reading, and its version if it was determined at opening.
  struct Holder {
    std::string object;
    std::optional<ObjectVersion> version;
  };
  virtual Holder holder(std::uint64_t chunk) const;
  // Reads the indexes that it needs and that were not added before.
  virtual Result<ChunkLocation> location(std::uint64_t chunk) const = 0;
  // Removes the index of the chunk's shard from the cache, because the shard was rewritten. The next location() reads
  // it again.
  virtual void discard_index(std::uint64_t) const {}

  virtual Status decode(std::uint64_t chunk, ConstBytes encoded, MutableBytes out,
                        CodecWorker& worker) const = 0;
  // The scratch memory that decode() needs besides the encoded bytes.
  virtual std::uint64_t decode_scratch_bytes() const { return 0; }
  virtual bool decodes_parts() const { return false; }
  virtual Status decode_part(std::uint64_t, ConstBytes, std::size_t, MutableBytes, CodecWorker&) const {
    return fail(ErrorCode::kUnsupported, "chunks are decoded as a whole");
  }
  // Whether the stored bytes equal the decoded ones, so that any part of a chunk can be read separately.
  virtual bool is_plain() const { return false; }

  // Fills `out` with the fill value of a missing chunk. Fails if the options do not allow missing chunks.
  virtual Status fill_missing(std::uint64_t chunk, MutableBytes out) const = 0;

  // For messages: one letter per axis, as in "ZCYX", and the compression of chunks; empty if unknown.
  virtual std::string axes() const { return {}; }
  virtual std::string compression() const { return {}; }

  // A hash of shape, type and chunks, which distinguishes these data from others.
  virtual std::uint64_t fingerprint() const;
  virtual const Store& store() const = 0;

 protected:
  // The shapes have the same rank, at most 8. No extent of the chunk is 0, and the number of chunks fits 64 bits.
  ChunkedArray(std::string uri, ArraySpec spec, Shape chunk_shape);

 private:
  std::string uri_;
  ArraySpec spec_;
  Shape chunk_shape_, grid_;
  std::uint64_t chunks_ = 0;
};

using ChunkedArrayPtr = std::shared_ptr<const ChunkedArray>;

// The position of the chunk in the grid for messages: "3.0.7".
std::string describe_chunk(const ChunkedArray& array, std::uint64_t chunk);

}  // namespace penstock
