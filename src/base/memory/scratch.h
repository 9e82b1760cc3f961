// A Scratch is the memory that a worker uses for one sample at a time, within the worker's share of the budget.
//
// Every worker is promised a share. A sample that needs more takes the pot, a reserve that one worker at a time may
// hold, until the sample is done. So no two workers wait for each other, and whether a sample fits depends on the
// budget alone, never on timing.
// Chunks that samples share are decoded within a second budget, whose pot is held for one chunk only: a worker that
// holds the pot for its sample may wait for a chunk that another worker decodes.
//
// A Scratch belongs to one thread. A ScratchBudget is shared by all workers and must outlive their scratches. What does
// not fit fails with kNoMemory and a message that names the budget.
//
//   ScratchBudget budget(ledger, share_bytes, pot_bytes);  // one
//   Scratch scratch(budget);                               // one per worker
//   auto pixels = scratch.get(0, width * height * 3);
//   if (!pixels) return std::unexpected(pixels.error());
//   ...
//   scratch.end_sample();
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/guarded.h"
#include "base/memory/ledger.h"
#include "base/memory/memory_block.h"
#include "penstock/result.h"

namespace penstock {

struct ScratchBudget {
  ScratchBudget(Ledger& ledger_, std::uint64_t share, std::uint64_t in_pot)
      : ledger(ledger_),
        share_bytes(share),
        pot_bytes(in_pot) {}

  Ledger& ledger;
  const std::uint64_t share_bytes;  // per worker
  const std::uint64_t pot_bytes;
  Mutex pot;
  // The budget for decoding shared chunks. nullptr: chunks are decoded within this budget, by one worker.
  ScratchBudget* chunks = nullptr;
  // Allocates the buffers. Set it before the first Scratch is made.
  std::shared_ptr<Allocator> allocator = page_allocator();
};

// Uses the memory of the pot while no worker holds the pot. Workers call it; it must be thread-safe.
class PotBorrower {
 public:
  virtual ~PotBorrower() = default;
  // Returns when this many bytes of the pot are free. It may wait, but not for a thread that waits for the pot.
  virtual void give_back(std::uint64_t bytes) = 0;
  // The whole pot is free again.
  virtual void borrow() = 0;
};

class Scratch {
 public:
  static constexpr int kBuffers = 13;

  // `borrower` may be nullptr; otherwise it must outlive the scratch.
  explicit Scratch(ScratchBudget& budget, PotBorrower* borrower = nullptr)
      : budget_(budget),
        borrower_(borrower) {}
  Scratch(const Scratch&) = delete;
  ~Scratch();

  // Returns buffer `index` (below kBuffers) with `bytes` bytes of undefined contents. It stays valid until the next
  // get() of the same index or the end of the sample. Buffers are reused from sample to sample.
  Result<MutableBytes> get(int index, std::size_t bytes);

  // Reserves memory that a library allocates by itself, until the end of the sample.
  Status charge(std::uint64_t bytes);

  // Call this between samples. It gives back the pot, and buffers that exceed the share.
  void end_sample();

 private:
  // Reserves `more` bytes, and takes the pot if the share does not suffice.
  Status reserve(std::uint64_t more);
  // The pot is held from one call to the end of the sample, which the analysis cannot follow.
  void take_pot() PENSTOCK_NO_THREAD_SAFETY_ANALYSIS;
  void give_back_pot() PENSTOCK_NO_THREAD_SAFETY_ANALYSIS;

  ScratchBudget& budget_;
  PotBorrower* const borrower_;
  std::array<MemoryBlock, kBuffers> blocks_;
  std::uint64_t held_ = 0;     // bytes of blocks_
  std::uint64_t charged_ = 0;  // bytes that libraries allocate
  bool has_pot_ = false;
};

}  // namespace penstock
