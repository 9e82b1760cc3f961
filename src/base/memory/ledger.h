// The memory budget: reserve before allocate.
//
// Everything the loader holds is written here: batches in the making and waiting, buffers kept for
// reuse, decoding scratch, caches. A reservation that does not fit is refused and nothing is
// allocated; who is refused waits or gives something up. A batch that was delivered belongs to the
// user and is only noted as lent, so that the loader can keep itself small beside it.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock {

class Ledger {
 public:
  explicit Ledger(std::uint64_t budget_bytes) : budget_(budget_bytes) {}

  bool try_reserve(std::uint64_t bytes);
  void release(std::uint64_t bytes);

  // A reserved batch goes to the user, or comes back (then it is in the ledger again).
  void lend(std::uint64_t bytes);
  void take_back(std::uint64_t bytes);
  // A lent batch was freed instead.
  void forget_lent(std::uint64_t bytes);

  std::uint64_t budget() const { return budget_; }
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  std::uint64_t lent() const { return lent_.load(std::memory_order_relaxed); }
  std::uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  void note_peak(std::uint64_t used);

  const std::uint64_t budget_;
  std::atomic<std::uint64_t> used_{0};
  std::atomic<std::uint64_t> lent_{0};
  std::atomic<std::uint64_t> peak_{0};
};

}  // namespace penstock
