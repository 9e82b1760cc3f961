// The part of a ChunkAssembler that hands a chunk to the samples of other workers before it leaves the decoded_chunks.
#include "sample/chunk_assembler.h"

namespace penstock {

// To all samples in the making that need it.
void ChunkAssembler::hand_on(const ChunkId& chunk, ConstBytes bytes) {
  DecodedChunkCache& decoded_chunks = lookahead_->decoded_chunks();
  for (const SampleUse& use : decoded_chunks.waiting_for(chunk)) {
    OpenSamplePtr open = decoded_chunks.begin_handing(use, chunk);
    if (!open && open_other_) open = decoded_chunks.begin_handing(use, chunk, open_other_(use));
    if (!open) continue;
    other_pieces_.clear();
    cut_boxes_at(source_.storage().arrays, open->boxes.boxes, chunk, other_pieces_);
    const Status copied = scatter_pieces(open->boxes, other_pieces_, bytes, 0);
    decoded_chunks.end_handing(use, chunk, copied.has_value());
  }
}

// Memory to decode chunks lies idle most of the time: until it is needed, chunks are kept in it.
void ChunkAssembler::give_back(std::uint64_t bytes) {
  if (lookahead_ == nullptr) return;
  DecodedChunkCache& decoded_chunks = lookahead_->decoded_chunks();
  ChunkClaim claim = decoded_chunks.reduce_loan(bytes);
  while (claim.kind == ChunkClaim::Kind::kHandOn) {
    hand_on(claim.chunk, claim.bytes);
    decoded_chunks.evict(claim.chunk);
    claim = decoded_chunks.reduce_loan(0);
  }
}

void ChunkAssembler::borrow() {
  if (lookahead_ != nullptr) lookahead_->decoded_chunks().restore_loan();
}

}  // namespace penstock
