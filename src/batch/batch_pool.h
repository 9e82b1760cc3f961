// The memory of batches, which is reused from batch to batch.
//
// All blocks have one size. A block is being filled or waits in the queue (in the ledger), belongs to the user (lent),
// or is free for reuse (in the ledger). The pool counts lent blocks against its area too, so that pipeline and user
// together stay within the budget. A user who keeps every batch still never stops the pipeline: a block that
// the pipeline cannot do without is granted in addition to those that are lent.
// Thread-safe. Lent blocks share ownership of the pool, so it lives as long as the last of them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/guarded.h"
#include "base/memory/ledger.h"
#include "base/memory/memory_block.h"

namespace penstock {

class BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  // `allocator` decides what kind of memory batches live in.
  BatchPool(std::shared_ptr<Ledger> ledger, std::size_t block_bytes, std::uint64_t area_bytes,
            std::shared_ptr<Allocator> allocator = page_allocator())
      : ledger_(std::move(ledger)),
        block_bytes_(block_bytes),
        area_bytes_(area_bytes),
        allocator_(std::move(allocator)) {}
  ~BatchPool();

  // Returns an empty block if the area is full or if the allocator has no memory. `must` says that the epoch has no
  // other batch in progress; blocks that are lent then do not count.
  MemoryBlock try_take(bool must) PENSTOCK_EXCLUDES(mutex_);
  // Takes back a block that was not used.
  void put_back(MemoryBlock block) PENSTOCK_EXCLUDES(mutex_);
  // Hands a block to the user. It returns to the pool when the last copy of the pointer is gone.
  std::shared_ptr<void> lend(MemoryBlock block) PENSTOCK_EXCLUDES(mutex_);

  // `callback` is called, on any thread, whenever a lent block has come back. Empty: no callback.
  void on_return(std::function<void()> callback) PENSTOCK_EXCLUDES(callback_mutex_);

 private:
  void receive(MemoryBlock block) PENSTOCK_EXCLUDES(mutex_, callback_mutex_);

  const std::shared_ptr<Ledger> ledger_;
  const std::size_t block_bytes_;
  const std::uint64_t area_bytes_;
  const std::shared_ptr<Allocator> allocator_;
  Mutex mutex_;
  std::vector<MemoryBlock> free_ PENSTOCK_GUARDED_BY(mutex_);
  // Lent blocks are counted in both.
  std::uint64_t blocks_ PENSTOCK_GUARDED_BY(mutex_) = 0, lent_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  // A second mutex, because the callback locks a mutex that callers of try_take() hold.
  Mutex callback_mutex_;
  std::function<void()> callback_ PENSTOCK_GUARDED_BY(callback_mutex_);
};

}  // namespace penstock
