#include "fetch/chunks/ahead_chunks.h"

#include "fetch/chunks/store_chunks.h"

namespace penstock {

void AheadChunks::turn_to(const SharedReads& shared) {
  ahead_ = shared.ahead();
  next_.turn_to(shared);
}

void AheadChunks::end_chunk() {
  memory_.reset();
  next_.end_chunk();
}

Result<ChunkBytes> AheadChunks::read(const ChunkRead& wanted) {
  if (ahead_ == nullptr || wanted.array.store().reads_ahead() == 0) return next_.read(wanted);
  if (auto taken = ahead_->take(wanted.chunk)) {
    if (!*taken) return std::unexpected(std::move(*taken).error());
    memory_ = std::move((*taken)->memory);
    return ChunkBytes{(*taken)->bytes, (*taken)->version};
  }
  const auto got = ahead_->read(wanted.array.store(), wanted.read, memory_for(wanted, scratch_));
  if (!got) return std::unexpected(got.error());
  return ChunkBytes{got->bytes, got->version};
}

}  // namespace penstock
