#include "fetch/bytes/block_bytes.h"

namespace penstock {

void BlockBytes::turn_to(const SharedReads& shared) {
  streams_ = shared.streams;
  next_.turn_to(shared);
}

void BlockBytes::end_sample() {
  block_.reset();
  next_.end_sample();
}

Result<RecordValue> BlockBytes::read(const FieldRead& wanted, const Extent& extent) {
  if (extent.block < 0) return next_.read(wanted, extent);
  const auto number = static_cast<std::size_t>(extent.block);
  if (!block_ || block_->number != number) {
    block_.reset();  // a worker that waits for memory must hold no block
    auto block = streams_->get(number);
    if (!block) return std::unexpected(std::move(block).error());
    block_ = std::move(*block);
    ++origin_.reads;
  }
  origin_.version = block_->version;
  clock_.mark(Stage::kRead, extent.length);
  return RecordValue{ConstBytes(block_->bytes()).subspan(extent.offset - block_->begin_byte, extent.length),
                     std::nullopt};
}

Result<bool> BlockBytes::read_into(const FieldRead& wanted, const Extent& extent,
                                   std::span<const MutableBytes> parts) {
  if (extent.block >= 0) return false;
  return next_.read_into(wanted, extent, parts);
}

}  // namespace penstock
