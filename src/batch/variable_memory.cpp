#include "batch/variable_memory.h"

#include <fmt/format.h>

namespace penstock {

std::string VariableMemory::describe_too_large(const char* what) const {
  return fmt::format(
      "{} takes more than the {} MiB that memory= of {} MiB leaves for samples of varying size in one "
      "batch; give memory= {} MiB, a smaller batch_size, or bucket_by=",
      what, half_bytes_ >> 20, ledger_->budget() >> 20, ledger_->budget() >> 19);
}

VariableMemory::Answer VariableMemory::take(VariableShare& share, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  if (bytes > half_bytes_ || share.bytes > half_bytes_ - bytes) return Answer::kNever;
  const std::uint64_t others = behind_ + lent_;
  if (!share.is_next && (others > half_bytes_ || bytes > half_bytes_ - others)) {
    is_short_ = true;
    return Answer::kLater;
  }
  if (share.is_next && next_ + behind_ + bytes > 2 * half_bytes_) {
    is_short_for_next_ = true;
    return Answer::kLater;
  }
  if (!ledger_->try_reserve(bytes)) {
    is_short_ = !share.is_next;
    return share.is_next ? Answer::kNever : Answer::kLater;
  }
  share.bytes += bytes;
  (share.is_next ? next_ : behind_) += bytes;
  return Answer::kYes;
}

void VariableMemory::give_back(VariableShare& share, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  give_back_locked(share, bytes);
}

void VariableMemory::give_back_locked(VariableShare& share, std::uint64_t bytes) {
  ledger_->release(bytes);
  share.bytes -= bytes;
  (share.is_next ? next_ : behind_) -= bytes;
}

void VariableMemory::drop(VariableShare& share) {
  const MutexLock lock(mutex_);
  give_back_locked(share, share.bytes);
  is_short_ = is_short_for_next_ = false;
}

bool VariableMemory::is_short() const {
  const MutexLock lock(mutex_);
  return is_short_;
}

bool VariableMemory::is_short_for_next() const {
  const MutexLock lock(mutex_);
  return is_short_for_next_;
}

void VariableMemory::promote(VariableShare& share) {
  const MutexLock lock(mutex_);
  if (share.is_next) return;
  share.is_next = true;
  behind_ -= share.bytes;
  next_ += share.bytes;
  is_short_ = false;
}

VariableMemory::Loan VariableMemory::lend(VariableShare& share) {
  const MutexLock lock(mutex_);
  const std::uint64_t bytes = share.bytes;
  ledger_->lend(bytes);
  (share.is_next ? next_ : behind_) -= bytes;
  lent_ += bytes;
  share = {};
  is_short_for_next_ = false;
  return {bytes, {this, [memory = shared_from_this(), bytes](void*) { memory->receive(bytes); }}};
}

void VariableMemory::on_return(std::function<void()> callback) {
  const MutexLock lock(callback_mutex_);
  callback_ = std::move(callback);
}

void VariableMemory::receive(std::uint64_t bytes) {
  {
    const MutexLock lock(mutex_);
    ledger_->forget_lent(bytes);
    lent_ -= bytes;
    is_short_ = false;
  }
  const MutexLock lock(callback_mutex_);
  if (callback_) callback_();
}

}  // namespace penstock
