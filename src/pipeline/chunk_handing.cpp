// The part of a ChunkAssembler that hands a chunk to the samples of other workers before it leaves the shelf.
#include "pipeline/chunk_assembler.h"

namespace penstock {

// To all samples in the making that need it.
void ChunkAssembler::hand_on(const ChunkId& chunk, ConstBytes bytes) {
  ChunkShelf& shelf = upcoming_->shelf();
  for (const SampleUse& use : shelf.waiting_for(chunk)) {
    OpenSamplePtr open = shelf.begin_handing(use, chunk);
    if (!open && open_other_) open = shelf.begin_handing(use, chunk, open_other_(use));
    if (!open) continue;
    other_pieces_.clear();
    cut_boxes_at(source_.chunked_arrays(), open->boxes.boxes, chunk, other_pieces_);
    const Status copied = scatter_pieces(open->boxes, other_pieces_, bytes, 0);
    shelf.end_handing(use, chunk, copied.has_value());
  }
}

// Memory to decode chunks lies idle most of the time: until it is needed, chunks are kept in it.
void ChunkAssembler::give_back(std::uint64_t bytes) {
  if (upcoming_ == nullptr) return;
  ChunkShelf& shelf = upcoming_->shelf();
  ChunkClaim claim = shelf.reduce_loan(bytes);
  while (claim.kind == ChunkClaim::Kind::kHandOn) {
    hand_on(claim.chunk, claim.bytes);
    shelf.evict(claim.chunk);
    claim = shelf.reduce_loan(0);
  }
}

void ChunkAssembler::borrow() {
  if (upcoming_ != nullptr) upcoming_->shelf().restore_loan();
}

}  // namespace penstock
