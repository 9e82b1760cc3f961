// Puts the chunked fields of a sample together: every chunk that they need once, in whatever order
// chunks are to be had.
//
// A chunk that only this sample needs, and that lies in the batch as it is decoded, is decoded right
// there. All others come from the shelf, and are copied, converted and normalised in one pass.
// Belongs to one thread.
#pragma once

#include <vector>

#include "base/stats.h"
#include "penstock/source.h"
#include "pipeline/sample_cache.h"
#include "pipeline/sample_reader.h"
#include "pipeline/upcoming.h"
#include "plan/chunk_pieces.h"
#include "transform/scatter.h"

namespace penstock {

struct UnitCost;

// Where the elements of a field go: memory seen through the axes of the sample.
struct ChunkTarget {
  std::size_t field = 0;  // of the source
  DType dtype = DType::kUInt8;
  int rank = 0;
  ArrayBox::Axes extent{};
  std::byte* memory = nullptr;  // of the sample's first element
  ArrayBox::Axes stride{};      // bytes, may be negative
  Affine affine;                // axis counts those of the sample
};

class ChunkAssembler {
 public:
  // Without `shared.upcoming` every chunk is decoded for the sample alone.
  ChunkAssembler(const Source& source, Scratch& scratch, StageClock& clock, const SharedReads& shared);

  // Another epoch's from the next sample on.
  void read_through(const SharedReads& shared) {
    upcoming_ = shared.upcoming;
    cache_ = shared.cache;
  }

  Status fill(std::uint64_t position, std::uint64_t sample, std::span<const ChunkTarget> targets);

  // Of the first chunk of the sample's that is stored.
  Result<UnitCost> measure_first(std::uint64_t sample, std::span<const std::size_t> fields);

  // The chunks of the last sample.
  std::span<const ChunkId> chunks() const { return chunks_; }
  // What was being read when it failed.
  const Where& where() const { return where_; }

 private:
  struct Need {
    ChunkId chunk;
    std::size_t first_piece = 0, pieces = 0;
    bool is_done = false;
    bool was_sought = false;  // in the cache
  };

  void find_needs(std::uint64_t sample, std::span<const ChunkTarget> targets);
  Result<bool> try_need(std::uint64_t position, Need& need);
  // From the cache, or into it: false where it is not there, or has no room.
  Result<bool> use_kept(const Need& need);
  ReadAhead* ahead() const;
  Result<bool> keep_and_use(const Need& need);
  void keep_copy(const ChunkId& chunk, ConstBytes decoded, std::uint64_t cost_ns);
  Result<ConstBytes> find_or_read(const ChunkId& chunk, const ObjectRead& wanted);
  Status use_alone(const Need& need);
  Result<ChunkPlace> place_of(const ChunkId& chunk) const;
  std::unexpected<Error> not_read(const ChunkId& chunk, Error error) const;
  std::unexpected<Error> not_decoded(const ChunkId& chunk, Error error) const;
  Status use_part(const Need& need, const ChunkPlace& place);
  Status decode_into(const ChunkId& chunk, MutableBytes out);
  Status decode_shared(const ChunkId& chunk, MutableBytes out);
  Status scatter_all(const Need& need, ConstBytes chunk, std::size_t first_byte);
  Result<ConstBytes> read(const ChunkedArray& array, const ObjectRead& wanted);
  // All but where it is copied from, which is byte `from_byte` of the decoded chunk.
  ScatterCopy copy_of(const ChunkPiece& piece, const ChunkTarget& target, std::size_t& from_byte) const;
  // Where the whole chunk would be decoded to; nothing where it would have to be copied.
  MutableBytes direct_place(const Need& need) const;
  std::span<const ChunkPiece> pieces_of(const Need& need) const;
  const ChunkTarget& target_of(const ChunkPiece& piece) const;

  const Source& source_;
  Scratch& scratch_;
  StageClock& clock_;
  Upcoming* upcoming_;
  const SampleCache* cache_;
  const CacheTier::Room room_for_kept_;
  CodecWorker codecs_;
  std::span<const ChunkTarget> targets_;
  std::vector<ArrayBox> boxes_;
  std::vector<std::size_t> first_box_;  // of each target
  std::vector<ChunkPiece> pieces_;      // those of a chunk stand together
  std::vector<Need> needs_;
  std::vector<ChunkId> chunks_;
  std::shared_ptr<const void> held_;  // bytes that were read ahead
  ObjectVersion version_;             // of the object that was read last
  bool is_missing_ = false;           // the chunk that was decoded last
  std::shared_ptr<const void> kept_;  // what the cache gave
  Where where_;
};

}  // namespace penstock
