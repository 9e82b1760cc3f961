// Puts the chunked fields of a sample together: every chunk that they need once, in whatever order
// chunks are to be had.
//
// A chunk that only this sample needs, and that lies in the batch as it is decoded, is decoded right
// there. All others come from the decoded_chunks, and are copied, converted and normalised in one pass. A chunk that
// has to leave the shelf is copied to all other samples in the making that need it first.
// Belongs to one thread.
#pragma once

#include <functional>
#include <vector>

#include "base/stats.h"
#include "penstock/source.h"
#include "fetch/open_sample.h"
#include "plan/sample_boxes.h"
#include "fetch/sample_cache.h"
#include "fetch/sample_reader.h"
#include "fetch/lookahead.h"
#include "plan/chunk_pieces.h"
#include "transform/scatter.h"

namespace penstock {

struct UnitCost;

// The scratch to decode a chunk has room for this part of its elements besides the encoded bytes.
constexpr std::size_t kPartOfChunk = 8;

class ChunkAssembler final : private PotBorrower {
 public:
  // Without `shared.lookahead` every chunk is decoded for the sample alone.
  ChunkAssembler(const Source& source, ScratchBudget& budget, StageClock& clock, const SharedReads& shared);

  // Another epoch's from the next sample on.
  void read_through(const SharedReads& shared) {
    lookahead_ = shared.lookahead;
    cache_ = shared.cache;
  }

  // Makes a sample ready to be handed chunks, where its worker has not begun with it; nullptr where that is not
  // possible.
  using OpenOther = std::function<OpenSamplePtr(const SampleUse&)>;
  void open_others_by(OpenOther open_other) { open_other_ = std::move(open_other); }

  // Before anything is known of it: the sample has no chunks.
  void begin_sample() { chunks_.clear(); }
  // Brings all elements of the boxes to their targets.
  Status fill(std::uint64_t position, const SampleBoxes& boxes);

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
    bool looked_up = false;  // in the cache
  };

  void find_needs(const SampleBoxes& boxes);
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
  // What decoding it for this sample alone would take.
  ChunkNeed describe(const Need& need) const;
  void end_chunk();
  void count_decoded(const ChunkId& chunk, std::size_t bytes);
  Status use_part(const Need& need, const ChunkPlace& place);
  Status decode_into(const ChunkId& chunk, MutableBytes out);
  Status decode_shared(const ChunkId& chunk, MutableBytes out);
  Status scatter_all(const Need& need, ConstBytes chunk, std::size_t first_byte);
  Status scatter_pieces(const SampleBoxes& boxes, std::span<const ChunkPiece> pieces, ConstBytes chunk,
                        std::size_t first_byte);
  void hand_on(const ChunkId& chunk, ConstBytes bytes);
  void give_back(std::uint64_t bytes) override;
  void borrow() override;
  Result<ConstBytes> read(const ChunkedArray& array, const ObjectRead& wanted);
  // All but where it is copied from, which is byte `from_byte` of the decoded chunk.
  ScatterCopy copy_of(const ChunkPiece& piece, const ChunkTarget& target, std::size_t& from_byte) const;
  // Where the whole chunk would be decoded to; nothing where it would have to be copied.
  MutableBytes direct_place(const Need& need) const;
  std::span<const ChunkPiece> pieces_of(const Need& need) const;

  const Source& source_;
  Scratch scratch_;  // for one chunk at a time
  StageClock& clock_;
  Lookahead* lookahead_;
  const SampleCache* cache_;
  const CacheTier::Room cached_value_allocator_;
  CodecWorker codecs_;
  OpenOther open_other_;
  const SampleBoxes* boxes_ = nullptr;   // of the sample
  std::vector<ChunkPiece> pieces_;       // those of a chunk stand together
  std::vector<ChunkPiece> other_pieces_;  // of another sample, which is handed a chunk
  std::vector<Need> needs_;
  std::vector<ChunkId> chunks_;
  std::shared_ptr<const void> held_;  // bytes that were read ahead
  ObjectVersion version_;             // of the object that was read last
  bool is_missing_ = false;           // the chunk that was decoded last
  std::shared_ptr<const void> kept_;  // what the cache gave
  Where where_;
};

}  // namespace penstock
