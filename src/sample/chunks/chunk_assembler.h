// Makes the chunked fields of a sample. It uses every chunk once, in the order in which chunks become available.
//
// A chunk that only this sample needs, and whose elements are stored in the batch in the same order, is decoded
// straight into the batch. All others come from the decoded chunk cache and are copied, converted and normalised in one
// pass. Before a chunk is evicted from that cache, it is copied to all other samples in the making that need it.
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

// The scratch for decoding a chunk has space for 1/kPartOfChunk of its elements in addition to the encoded bytes.
constexpr std::size_t kPartOfChunk = 8;

class ChunkAssembler final : private PotBorrower {
 public:
  // `cache` may be nullptr. Before turn_to(), and if an epoch has no lookahead, every chunk is decoded for one sample
  // alone.
  ChunkAssembler(const Source& source, ScratchBudget& budget, StageClock& clock, const SampleCache* cache);

  // Called when the samples that follow belong to another epoch.
  void turn_to(const SharedReads& shared);

  // Opens a sample that no worker has begun with, so that chunks can be copied to it. Returns nullptr if that is not
  // possible.
  using OpenOther = std::function<OpenSamplePtr(const SampleUse&)>;
  void open_others_by(OpenOther open_other) { open_other_ = std::move(open_other); }

  // Forgets the chunks of the sample before.
  void begin_sample() { chunks_.clear(); }
  // Copies all elements of the boxes to their targets.
  Status fill(std::uint64_t position, const SampleBoxes& boxes);

  // Measures reading and decoding the sample's first chunk that is stored.
  Result<UnitCost> measure_first(std::uint64_t sample, std::span<const std::size_t> fields);

  // The chunks of the last sample.
  std::span<const ChunkId> chunks() const { return chunks_; }
  // Location of the bytes that were read last; after a failure, of those that could not be read.
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
  // Each returns false if the chunk cannot be got in this way, or not yet.
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
  const SampleBoxes* boxes_ = nullptr;    // boxes of the sample
  std::vector<ChunkPiece> pieces_;        // pieces of one chunk are consecutive
  std::vector<ChunkPiece> other_pieces_;  // pieces of another sample that a chunk is copied to
  std::vector<Need> needs_;
  std::vector<ChunkId> chunks_;
  std::shared_ptr<const void> cached_;  // owns the bytes that the cache gave
};

}  // namespace penstock
