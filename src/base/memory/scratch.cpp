#include "base/memory/scratch.h"

#include <fmt/format.h>

#include <algorithm>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace penstock {

Scratch::~Scratch() {
  budget_.ledger.release(held_ + charged_);
  give_back_pot();
}

void Scratch::take_pot() {
  if (!has_pot_) budget_.pot.lock();
  has_pot_ = true;
}

void Scratch::give_back_pot() {
  if (has_pot_) budget_.pot.unlock();
  has_pot_ = false;
}

Status Scratch::reserve(std::uint64_t more) {
  const std::uint64_t wanted = held_ + charged_ + more;
  if (wanted > budget_.share_bytes + budget_.pot_bytes)
    return fail(ErrorCode::kNoMemory,
                fmt::format("the sample needs {} bytes to decode, the memory budget leaves {}; "
                            "give a larger memory=",
                            wanted, budget_.share_bytes + budget_.pot_bytes));
  if (wanted > budget_.share_bytes) take_pot();
  if (has_pot_ && borrower_ != nullptr) borrower_->give_back(more);
  if (!budget_.ledger.try_reserve(more)) return fail(ErrorCode::kNoMemory, "the memory budget is used up");
  return {};
}

Result<MutableBytes> Scratch::get(int index, std::size_t bytes) {
  MemoryBlock& block = blocks_[static_cast<std::size_t>(index)];
  if (block.size() < bytes) {
    held_ -= block.size();
    budget_.ledger.release(block.size());
    block = MemoryBlock();
    const std::size_t rounded = (bytes + 65535) & ~std::size_t{65535};
    PENSTOCK_CHECK(reserve(rounded));
    block = MemoryBlock::allocate(rounded, budget_.allocator);
    if (block.size() < bytes) {
      block = MemoryBlock();
      budget_.ledger.release(rounded);
      return fail(ErrorCode::kNoMemory, fmt::format("the system has no {} bytes left", bytes));
    }
    held_ += block.size();
  }
#ifdef __SANITIZE_ADDRESS__
  // Blocks are larger than what was asked for. The sanitizer catches writes past that.
  ASAN_UNPOISON_MEMORY_REGION(block.data(), block.size());
  ASAN_POISON_MEMORY_REGION(block.data() + bytes, block.size() - bytes);
#endif
  return MutableBytes(block.data(), bytes);
}

Status Scratch::charge(std::uint64_t bytes) {
  if (bytes == 0) return {};
  PENSTOCK_CHECK(reserve(bytes));
  charged_ += bytes;
  return {};
}

void Scratch::end_sample() {
  if (charged_ > 0) {
    budget_.ledger.release(charged_);
    charged_ = 0;
  }
  if (!has_pot_) return;
  for (MemoryBlock& block : blocks_) {
    if (held_ <= budget_.share_bytes) break;
    held_ -= block.size();
    budget_.ledger.release(block.size());
    block = MemoryBlock();
  }
  if (borrower_ != nullptr) borrower_->borrow();
  give_back_pot();
}

}  // namespace penstock
