// Puts the chunked fields of a sample together: every chunk that they need once, in whatever order chunks are to be
// had.
//
// A chunk that only this sample needs, and that lies in the batch as it is decoded, is decoded right there. All others
// come from the decoded chunk cache and are copied, converted and normalised in one pass. Before a chunk leaves that
// cache, it is copied to all other samples in the making that need it.
//
// Belongs to one worker thread. Source, budget, clock and cache are borrowed and outlive it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/stats.h"
#include "fetch/chunks/open_sample.h"
#include "fetch/entries/sample_cache.h"
#include "fetch/shared_reads.h"
#include "plan/chunk_pieces.h"
#include "plan/sample_boxes.h"
#include "sample/chunks/chunk_decoder.h"
#include "sample/chunks/chunk_scatter.h"
#include "sample/unit_cost.h"

namespace penstock {

// The scratch to decode a chunk has room for this part of its elements besides the encoded bytes.
constexpr std::size_t kPartOfChunk = 8;

class ChunkAssembler final : private PotBorrower {
 public:
  // `cache` may be nullptr. Before turn_to(), and where an epoch has no lookahead, every chunk is decoded for the
  // sample alone.
  ChunkAssembler(const Source& source, ScratchBudget& budget, StageClock& clock, const SampleCache* cache);

  // The samples that follow are those of another epoch.
  void turn_to(const SharedReads& shared);

  // Makes a sample ready to be handed chunks, where its worker has not begun with it; nullptr where that is not
  // possible.
  using OpenOther = std::function<OpenSamplePtr(const SampleUse&)>;
  void open_others_by(OpenOther open_other) { open_other_ = std::move(open_other); }

  // Before anything is known of it, the sample has no chunks.
  void begin_sample() { chunks_.clear(); }
  // Brings all elements of the boxes to their targets.
  Status fill(std::uint64_t position, const SampleBoxes& boxes);

  // What the first chunk of the sample that is stored takes.
  Result<UnitCost> measure_first(std::uint64_t sample, std::span<const std::size_t> fields);

  // The chunks of the last sample.
  std::span<const ChunkId> chunks() const { return chunks_; }
  // What was being read when it failed.
  const Where& where() { return decoder_.reader().where(); }

 private:
  struct Need {
    ChunkId chunk;
    std::size_t first_piece = 0, pieces = 0;
    bool is_done = false;
    bool looked_up = false;  // in the cache
  };

  void find_needs(const SampleBoxes& boxes);
  std::span<const ChunkPiece> pieces_of(const Need& need) const;
  ChunkNeed describe(const Need& need) const;
  // Each is false where the chunk is not to be had that way, or not yet.
  Result<bool> try_need(std::uint64_t position, Need& need);
  Result<bool> try_cached(std::uint64_t position, Need& need);
  Result<bool> use_claim(std::uint64_t position, const Need& need);
  Result<bool> use_cached(const Need& need);
  Result<bool> decode_into_cache(const Need& need);
  Status use_alone(const Need& need);
  Status decode_shared(const ChunkId& chunk, MutableBytes out);
  void add_to_cache(const ChunkId& chunk, ConstBytes decoded, std::uint64_t cost_ns);
  Status scatter(const Need& need, ConstBytes chunk, std::size_t first_byte);

  // Copies the chunk to all samples in the making that need it.
  void hand_to_others(const ChunkId& chunk, ConstBytes bytes);
  void give_back(std::uint64_t bytes) override;
  void borrow() override;

  const Source& source_;
  const ChunkScatter scatter_;
  Scratch scratch_;  // for one chunk at a time
  StageClock& clock_;
  ChunkDecoder decoder_;
  const SampleCache* const decoded_cache_;  // nullptr: no decoded chunks are cached between epochs
  const CacheTier::Allocate allocate_cached_;
  Lookahead* lookahead_ = nullptr;
  OpenOther open_other_;
  const SampleBoxes* boxes_ = nullptr;    // of the sample
  std::vector<ChunkPiece> pieces_;        // those of a chunk lie together
  std::vector<ChunkPiece> other_pieces_;  // of another sample, which is handed a chunk
  std::vector<Need> needs_;
  std::vector<ChunkId> chunks_;
  std::shared_ptr<const void> cached_;  // keeps what the cache gave in memory
};

}  // namespace penstock
