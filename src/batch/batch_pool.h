// Batch memory, used again and again.
//
// Blocks are of one size. A block is being filled or waits in the queue (in the ledger), is with
// the user (lent), or free for reuse (in the ledger). The pool counts lent blocks against its
// area too, so that pipeline and user together stay within the budget, but a user who keeps every
// batch never stops the pipeline: a block that must be had is granted beside those that are lent.
// Thread-safe; lives as long as the last lent block.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/bytes.h"
#include "base/memory/ledger.h"

namespace penstock {

class BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  BatchPool(std::shared_ptr<Ledger> ledger, std::size_t block_bytes, std::uint64_t area_bytes)
      : ledger_(std::move(ledger)),
        block_bytes_(block_bytes),
        area_bytes_(area_bytes) {}
  ~BatchPool();

  // Empty where the area is full. `must`: nothing else of this epoch is in the making, so that blocks
  // that are lent do not count.
  MemoryBlock try_take(bool must);
  // Unused after all.
  void put_back(MemoryBlock block);
  // To the user; comes back by itself.
  std::shared_ptr<void> lend(MemoryBlock block);

  // Called (from any thread) when a lent block came back. Empty: nobody.
  void on_return(std::function<void()> callback);

 private:
  void receive(MemoryBlock block);

  const std::shared_ptr<Ledger> ledger_;
  const std::size_t block_bytes_;
  const std::uint64_t area_bytes_;
  std::mutex mutex_;
  std::vector<MemoryBlock> free_;
  std::uint64_t blocks_ = 0, lent_ = 0;  // that exist; of these, those that are lent
  // Of its own: the callback takes the mutex of whoever calls try_take().
  std::mutex callback_mutex_;
  std::function<void()> callback_;
};

}  // namespace penstock
