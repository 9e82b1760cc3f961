// A worker's own memory for one sample at a time, within its share of the budget.
//
// Every worker is promised a share. A sample that needs more takes the pot, which one worker at a
// time may hold, until the sample is done: so no two workers can wait for each other, and whether
// a sample fits is decided by the budget alone, never by timing.
// Decoding a chunk that samples share has a budget of its own, whose pot is held for one chunk only: a worker
// that holds the pot for its sample may wait for a chunk that another worker decodes.
// A Scratch belongs to one thread; a ScratchBudget is shared.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "base/bytes.h"
#include "base/memory/ledger.h"
#include "penstock/result.h"

namespace penstock {

struct ScratchBudget {
  ScratchBudget(Ledger& ledger_, std::uint64_t share, std::uint64_t in_pot)
      : ledger(ledger_),
        share_bytes(share),
        pot_bytes(in_pot) {}

  Ledger& ledger;
  const std::uint64_t share_bytes;
  const std::uint64_t pot_bytes;
  std::mutex pot;
  ScratchBudget* chunks = nullptr;  // nullptr: chunks are decoded within this budget, by one worker
};

// Uses the pot's memory while nobody holds the pot.
class PotBorrower {
 public:
  virtual ~PotBorrower() = default;
  // So many bytes of it are needed now: returns when they are free. May wait, but for nobody who waits for the pot.
  virtual void give_back(std::uint64_t bytes) = 0;
  // All of it is free again.
  virtual void borrow() = 0;
};

class Scratch {
 public:
  static constexpr int kBuffers = 13;

  // `borrower`: may be nullptr.
  explicit Scratch(ScratchBudget& budget, PotBorrower* borrower = nullptr)
      : budget_(budget),
        borrower_(borrower) {}
  Scratch(const Scratch&) = delete;
  ~Scratch();

  // At least `bytes` in buffer `index`; what it held before is lost. Grows, never shrinks while
  // a sample is worked on.
  Result<MutableBytes> get(int index, std::size_t bytes);

  // Memory that a library allocates by itself until the sample is done.
  Status charge(std::uint64_t bytes);

  // Between samples: gives back the pot and what exceeds the share.
  void end_sample();

 private:
  Status make_room(std::uint64_t more);

  ScratchBudget& budget_;
  PotBorrower* const borrower_;
  std::array<MemoryBlock, kBuffers> blocks_;
  std::uint64_t held_ = 0;     // blocks
  std::uint64_t charged_ = 0;  // libraries
  std::unique_lock<std::mutex> pot_;
};

}  // namespace penstock
