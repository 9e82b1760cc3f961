#include "base/memory/ledger.h"

namespace penstock {

bool Ledger::try_reserve(std::uint64_t bytes) {
  std::uint64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > budget_ || used > budget_ - bytes) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  note_peak(used + bytes);
  return true;
}

void Ledger::release(std::uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

void Ledger::lend(std::uint64_t bytes) {
  lent_.fetch_add(bytes, std::memory_order_relaxed);
  used_.fetch_sub(bytes, std::memory_order_relaxed);
}

void Ledger::take_back(std::uint64_t bytes) {
  note_peak(used_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
  lent_.fetch_sub(bytes, std::memory_order_relaxed);
}

void Ledger::forget_lent(std::uint64_t bytes) { lent_.fetch_sub(bytes, std::memory_order_relaxed); }

void Ledger::note_peak(std::uint64_t used) {
  std::uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (used > peak && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {}
}

}  // namespace penstock
