// One link of the chain that gives the stored bytes of chunks.
//
// A chain asks, in this order: the cache, what was read ahead, the store. It is to chunks what the chain of
// fetch/bytes/byte_provider.h is to samples. chunk_reader.cpp joins the links.
//
// A chain belongs to one worker thread. Bytes that a link gives are borrowed until end_chunk().
#pragma once

#include <memory>
#include <optional>

#include "base/bytes.h"
#include "fetch/shared_reads.h"
#include "plan/chunk_id.h"
#include "source/chunked_array.h"
#include "store/store.h"

namespace penstock {

struct ChunkRead {
  ChunkId chunk;
  const ChunkedArray& array;
  ObjectRead read;  // reads all stored bytes of the chunk, or some of them if `part` is set
  // The destination, set if only some bytes are wanted of a chunk that is stored as it is decoded.
  std::optional<MutableBytes> part = std::nullopt;
  // Memory that the whole chunk may be read into, if all of it fits exactly. A link that has the bytes elsewhere gives
  // them there. It saves a copy where the chunk is stored as it is decoded; empty: the worker's scratch is used.
  MutableBytes whole = {};
};

struct ChunkBytes {
  ConstBytes bytes;
  ObjectVersion version;  // version of the object that the bytes were read from
};

class ChunkProvider {
 public:
  virtual ~ChunkProvider() = default;

  // Fails with kNotFound if the store has no such object.
  virtual Result<ChunkBytes> read(const ChunkRead& wanted) = 0;
  // Whether reading a part of a chunk costs less than reading the whole.
  virtual bool reads_parts() const = 0;
  // Called when the chunks that follow belong to samples of another epoch.
  virtual void turn_to(const SharedReads&) {}
  virtual void end_chunk() {}
};

}  // namespace penstock
