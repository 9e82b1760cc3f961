// Makes decoded chunks: reads their stored bytes and decodes them, or uses the fill value for chunks that are not
// stored.
//
// Belongs to one worker thread. Source, scratch, clock and cache are borrowed and outlive it.
#pragma once

#include "base/stats.h"
#include "fetch/chunks/chunk_reader.h"
#include "sample/unit_cost.h"
#include "transform/op.h"

namespace penstock {

class ChunkDecoder {
 public:
  // `cache` may be nullptr.
  ChunkDecoder(const Source& source, Scratch& scratch, StageClock& clock, const SampleCache* cache);

  // Decodes the whole chunk, which must have out.size() bytes.
  Status decode(const ChunkId& chunk, MutableBytes out);
  // Returns `bytes` bytes of the decoded chunk, from `first_byte` on. The array must be able to give parts: is_plain()
  // or decodes_parts(). The result is borrowed from the scratch until end_chunk().
  Result<ConstBytes> decode_part(const ChunkId& chunk, std::size_t first_byte, std::size_t bytes);
  // Whether the last chunk is not stored, so that it has the fill value.
  bool was_missing() const { return was_missing_; }
  // Measures reading and decoding the chunk. Fails with kNotFound if it is not stored.
  Result<UnitCost> measure(const ChunkId& chunk);

  ChunkReader& reader() { return reader_; }
  void turn_to(const SharedReads& shared);
  // Releases the scratch, because another worker may need the memory to decode a chunk that this worker waits for.
  void end_chunk();

 private:
  std::unexpected<Error> describe(const ChunkId& chunk, Error error) const;
  void count(const ChunkId& chunk, std::size_t bytes);

  const Source& source_;
  Scratch& scratch_;
  StageClock& clock_;
  ChunkReader reader_;
  CodecWorker codecs_;
  Lookahead* lookahead_ = nullptr;  // counts decoded chunks
  bool was_missing_ = false;
};

}  // namespace penstock
