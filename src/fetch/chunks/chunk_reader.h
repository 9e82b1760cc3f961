// Reads the stored bytes of chunks for samples.
//
// It locates a chunk (and reads the index of its shard first if needed), asks the chain of providers, and interprets
// the answer: a chunk that is not stored is not an error, and an index that does not match its shard any more is
// discarded, so that the next reader loads it again.
//
// Belongs to one worker thread. Source, scratch, clock and cache are borrowed and outlive it.
#pragma once

#include <memory>

#include "base/stats.h"
#include "fetch/chunks/ahead_chunks.h"
#include "fetch/chunks/cached_chunks.h"
#include "fetch/chunks/chunk_provider.h"
#include "fetch/chunks/store_chunks.h"

namespace penstock {

class ChunkReader {
 public:
  // `cache` may be nullptr.
  ChunkReader(const Source& source, Scratch& scratch, StageClock& clock, const SampleCache* cache);
  ChunkReader(const ChunkReader&) = delete;

  struct Stored {
    ConstBytes bytes;         // borrowed until end_chunk(), or the caller's `whole`
    bool is_missing = false;  // the chunk is not stored: it has the fill value
  };
  // Reads all stored bytes. They go to `whole` if they come from the store and are exactly as many as that has.
  Result<Stored> read(const ChunkId& chunk, MutableBytes whole = {});
  // Reads only the bytes from `first_byte` on, into `part`. The chunk must be stored as it is decoded.
  Result<Stored> read_part(const ChunkId& chunk, std::size_t first_byte, MutableBytes part);
  // Whether read_part() costs less than read() for a chunk that is stored as it is decoded.
  bool reads_parts() const { return first_->reads_parts(); }

  // Version of the object that the last chunk was read from.
  const ObjectVersion& version() const { return version_; }
  // Location of the last bytes that were read or that could not be read.
  const Where& where() const { return where_; }
  // Makes where() name this array, until the next read.
  void aim_at(const ChunkedArray& array) { where_ = {array.uri(), -1, -1, -1}; }

  void turn_to(const SharedReads& shared);
  void end_chunk() { first_->end_chunk(); }

 private:
  Result<Stored> ask(ChunkRead wanted);
  Result<ChunkLocation> locate(const ChunkId& chunk) const;

  const Source& source_;
  StageClock& clock_;
  StoreChunks store_;
  AheadChunks ahead_;
  std::unique_ptr<CachedChunks> cached_;
  ChunkProvider* first_;
  ReadAhead* indexes_ = nullptr;  // reads the indexes of shards; if nullptr, the array reads them itself
  ObjectVersion version_;
  Where where_;
};

}  // namespace penstock
