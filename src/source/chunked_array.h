// An array that is stored in chunks, each of which is read and decoded as a whole: Zarr arrays, and
// the rows or tiles of .npy and TIFF volumes.
//
// Immutable after opening, but for indexes of shards that it learns on the way; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "decode/codec/codec_chain.h"
#include "penstock/array.h"
#include "store/store.h"

namespace penstock {

// Where the encoded bytes of a chunk stand.
struct ChunkLocation {
  ObjectRead read;
  bool is_missing = false;  // known already: an empty entry in the index of a shard
};

class ChunkedArray {
 public:
  virtual ~ChunkedArray() = default;

  const std::string& uri() const { return uri_; }
  const ArraySpec& spec() const { return spec_; }
  // Chunk (i, j, ...) covers elements from (i * c0, j * c1, ...), as far as the array goes; chunks are
  // numbered in C order of their places in the grid.
  const Shape& chunk_shape() const { return chunk_shape_; }
  const Shape& grid() const { return grid_; }
  std::uint64_t chunks() const { return chunks_; }

  // How a decoded chunk lies in memory: strides in bytes for each axis of the array. Chunks at the
  // far edges may be smaller or, as in Zarr, reach beyond the array.
  virtual Shape chunk_strides(std::uint64_t chunk) const = 0;
  virtual std::size_t chunk_bytes(std::uint64_t chunk) const = 0;
  virtual bool swap_bytes() const = 0;

  // A read that must come before location() can answer without reading: the index of a shard. Its answer
  // goes to add_index(); there may be a next one. kNotFound is an answer too: the shard is missing.
  virtual std::optional<ObjectRead> index_read(std::uint64_t) const { return std::nullopt; }
  virtual Status add_index(std::uint64_t, Result<ObjectBytes>) const { return {}; }
  // The object that holds a chunk, without reading, and its version where opening the array fixed one.
  struct Holder {
    std::string object;
    std::optional<ObjectVersion> version;
  };
  virtual Holder holder(std::uint64_t chunk) const;
  // Reads indexes that are still wanted by itself.
  virtual Result<ChunkLocation> location(std::uint64_t chunk) const = 0;
  // The shard is not the one whose index was read: forget that, so that the next location() asks again.
  virtual void discard_index(std::uint64_t) const {}

  virtual Status decode(std::uint64_t chunk, ConstBytes encoded, MutableBytes out,
                        CodecWorker& worker) const = 0;
  // Scratch that decode() takes, besides the encoded bytes.
  virtual std::uint64_t decode_scratch_bytes() const { return 0; }
  virtual bool decodes_parts() const { return false; }
  virtual Status decode_part(std::uint64_t, ConstBytes, std::size_t, MutableBytes, CodecWorker&) const {
    return fail(ErrorCode::kUnsupported, "chunks are decoded as a whole");
  }
  // The stored bytes are the decoded ones: any part can be read by itself.
  virtual bool is_plain() const { return false; }

  // The elements of a chunk that is not there: the fill value, or an error where there must be none.
  virtual Status fill_missing(std::uint64_t chunk, MutableBytes out) const = 0;

  // For people: one letter per axis, as in "ZCYX", and how chunks are compressed; empty where not known.
  virtual std::string axes() const { return {}; }
  virtual std::string compression() const { return {}; }

  // What tells these data from others: shape, type, chunks.
  virtual std::uint64_t fingerprint() const;
  virtual const Store& store() const = 0;

 protected:
  // Both have the same rank, at most 8; no extent of the chunk is 0; the number of chunks fits.
  ChunkedArray(std::string uri, ArraySpec spec, Shape chunk_shape);

 private:
  std::string uri_;
  ArraySpec spec_;
  Shape chunk_shape_, grid_;
  std::uint64_t chunks_ = 0;
};

using ChunkedArrayPtr = std::shared_ptr<const ChunkedArray>;

// "3.0.7", for messages.
std::string describe_chunk(const ChunkedArray& array, std::uint64_t chunk);

}  // namespace penstock
