// A Ledger is the memory budget of a loader: reserve first, then allocate.
//
// Everything that the loader holds is recorded here: batches in progress and in the queue, buffers for reuse, decoding
// scratch, caches. A reservation that does not fit is refused, and nothing is allocated; the caller then waits or
// frees something. A batch that was delivered belongs to the user. It is only recorded as lent, so that the loader can
// keep itself small beside it.
//
// A Ledger counts; it owns no memory. It must outlive everything that is reserved in it. Thread-safe and lock-free.
//
//   if (!ledger.try_reserve(bytes)) return fail(ErrorCode::kNoMemory, "...");
//   MemoryBlock block = MemoryBlock::allocate(bytes);
//   ...
//   block = MemoryBlock();
//   ledger.release(bytes);
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock {

class Ledger {
 public:
  explicit Ledger(std::uint64_t budget_bytes) : budget_(budget_bytes) {}

  // Returns false, and reserves nothing, if the bytes do not fit in the budget.
  bool try_reserve(std::uint64_t bytes);
  void release(std::uint64_t bytes);

  // Reserved bytes go to the user: they are lent and no longer used.
  void lend(std::uint64_t bytes);
  // Lent bytes come back and are used again, even if that exceeds the budget.
  void take_back(std::uint64_t bytes);
  // Lent bytes were freed.
  void forget_lent(std::uint64_t bytes);

  std::uint64_t budget() const { return budget_; }
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  std::uint64_t lent() const { return lent_.load(std::memory_order_relaxed); }
  // The largest value that used() has had.
  std::uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  void note_peak(std::uint64_t used);

  const std::uint64_t budget_;
  std::atomic<std::uint64_t> used_{0};
  std::atomic<std::uint64_t> lent_{0};
  std::atomic<std::uint64_t> peak_{0};
};

}  // namespace penstock
