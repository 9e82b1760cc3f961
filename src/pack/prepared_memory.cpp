#include "pack/prepared_memory.h"

#include <algorithm>

namespace penstock {

PreparedMemory::Answer PreparedMemory::take(std::uint64_t position, std::uint64_t more, std::uint64_t whole) {
  if (whole > reserve_bytes_) return Answer::kNever;
  const MutexLock lock(mutex_);
  const std::uint64_t limit = position == earliest_ ? queue_bytes_ + reserve_bytes_ : queue_bytes_;
  if (held_ + more > limit) return Answer::kLater;
  held_ += more;
  peak_ = std::max(peak_, held_);
  return Answer::kYes;
}

void PreparedMemory::give_back(std::uint64_t bytes) {
  if (bytes == 0) return;
  const MutexLock lock(mutex_);
  const bool was_full = held_ > queue_bytes_ / 2;
  held_ -= bytes;
  if (was_full && held_ <= queue_bytes_ / 2 && !waiting_.empty()) changed_.notify_all();
}

bool PreparedMemory::wait_for(std::uint64_t position, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  if (is_stopped_) return false;
  if (position == earliest_ || held_ + bytes <= queue_bytes_) return true;
  const auto waiting = waiting_.insert(position);
  while (!is_stopped_ && position != earliest_ && (held_ > queue_bytes_ / 2 || held_ + bytes > queue_bytes_))
    changed_.wait(mutex_);
  waiting_.erase(waiting);
  return !is_stopped_;
}

void PreparedMemory::set_earliest(std::uint64_t position) {
  const MutexLock lock(mutex_);
  earliest_ = position;
  if (waiting_.contains(position)) changed_.notify_all();
}

void PreparedMemory::stop() {
  const MutexLock lock(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
}

std::uint64_t PreparedMemory::peak() const {
  const MutexLock lock(mutex_);
  return peak_;
}

}  // namespace penstock
