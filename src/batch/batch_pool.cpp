#include "batch/batch_pool.h"

namespace penstock {

BatchPool::~BatchPool() { ledger_->release(free_.size() * block_bytes_); }

MemoryBlock BatchPool::try_take(bool must) {
  const MutexLock lock(mutex_);
  if (!free_.empty()) {
    MemoryBlock block = std::move(free_.back());
    free_.pop_back();
    return block;
  }
  const std::uint64_t counted = must ? blocks_ - lent_ : blocks_;
  if ((counted + 1) * block_bytes_ > area_bytes_) return {};
  if (!ledger_->try_reserve(block_bytes_)) return {};
  MemoryBlock block = MemoryBlock::allocate(block_bytes_, allocator_);
  if (block.size() == 0)
    ledger_->release(block_bytes_);
  else
    ++blocks_;
  return block;
}

void BatchPool::put_back(MemoryBlock block) {
  if (block.size() == 0) return;
  const MutexLock lock(mutex_);
  free_.push_back(std::move(block));
}

std::shared_ptr<void> BatchPool::lend(MemoryBlock block) {
  {
    const MutexLock lock(mutex_);
    ++lent_;
  }
  ledger_->lend(block_bytes_);
  void* data = block.data();
  auto owned = std::make_shared<MemoryBlock>(std::move(block));
  return {data, [pool = shared_from_this(), owned](void*) { pool->receive(std::move(*owned)); }};
}

void BatchPool::on_return(std::function<void()> callback) {
  const MutexLock lock(callback_mutex_);
  callback_ = std::move(callback);
}

void BatchPool::receive(MemoryBlock block) {
  {
    const MutexLock lock(mutex_);
    --lent_;
    if (blocks_ * block_bytes_ > area_bytes_) {
      block = MemoryBlock();
      ledger_->forget_lent(block_bytes_);
      --blocks_;
    } else {
      ledger_->take_back(block_bytes_);
      free_.push_back(std::move(block));
    }
  }
  const MutexLock lock(callback_mutex_);
  if (callback_) callback_();
}

}  // namespace penstock
