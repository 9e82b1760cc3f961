// Accounts for the memory of values whose size varies between samples (texts, ragged arrays), within an area
// of the budget.
//
// Batches are delivered in order, so the next batch must always be able to make progress: it may use one half
// of the area, and all later batches together use the other half. So the budget alone decides whether a batch
// fits, not the timing. If several epochs run, each has a next batch; one of them may be refused while others
// hold memory, which the scheduler then takes from them. A worker that is refused drops its sample, which is
// made again later; no call waits. Thread-safe. Batches that were lent to the user share ownership of this
// object.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/guarded.h"
#include "base/memory/allocator.h"
#include "base/memory/ledger.h"

namespace penstock {

class VariableMemory;
using VariableMutex = ClassMutex<VariableMemory>;

// The memory that one batch holds. Only VariableMemory uses its members.
struct VariableShare {
  std::uint64_t bytes PENSTOCK_GUARDED_BY(VariableMutex::held) = 0;
  bool is_next PENSTOCK_GUARDED_BY(VariableMutex::held) = false;
};

class VariableMemory : public std::enable_shared_from_this<VariableMemory> {
 public:
  // Values that wait for their batch, or are delivered one by one, are blocks of `of_parts`; a padded batch is a block
  // of `of_arrays`.
  VariableMemory(std::shared_ptr<Ledger> ledger, std::uint64_t area_bytes,
                 std::shared_ptr<Allocator> of_parts = heap_allocator(),
                 std::shared_ptr<Allocator> of_arrays = page_allocator())
      : ledger_(std::move(ledger)),
        half_bytes_(area_bytes / 2),
        of_parts_(std::move(of_parts)),
        of_arrays_(std::move(of_arrays)) {}

  const std::shared_ptr<Allocator>& of_parts() const { return of_parts_; }
  const std::shared_ptr<Allocator>& of_arrays() const { return of_arrays_; }

  enum class Answer : std::uint8_t {
    kYes,
    kLater,  // not while earlier batches or other epochs hold the memory
    kNever,  // the batch would exceed the limit per batch
  };
  Answer take(VariableShare& share, std::uint64_t bytes) PENSTOCK_EXCLUDES(mutex_);
  void give_back(VariableShare& share, std::uint64_t bytes) PENSTOCK_EXCLUDES(mutex_);
  // Gives back everything that the batch holds, because the batch is abandoned.
  void drop(VariableShare& share) PENSTOCK_EXCLUDES(mutex_);
  // True if a batch after the next one would be refused, so that work on it is useless.
  bool is_short() const PENSTOCK_EXCLUDES(mutex_);
  // True if a next batch that was refused would be refused again.
  bool is_short_for_next() const PENSTOCK_EXCLUDES(mutex_);

  // The batch becomes the next one to be delivered.
  void promote(VariableShare& share) PENSTOCK_EXCLUDES(mutex_);
  struct Loan {
    std::uint64_t bytes = 0;
    std::shared_ptr<void> token;
  };
  // Hands the memory of a batch to the user. It returns when the last copy of the token is destroyed.
  Loan lend(VariableShare& share) PENSTOCK_EXCLUDES(mutex_);

  std::uint64_t max_bytes_per_batch() const { return half_bytes_; }
  std::string describe_too_large(const char* what) const;
  // `callback` is called, on any thread, whenever lent memory has come back. Empty: no callback.
  void on_return(std::function<void()> callback) PENSTOCK_EXCLUDES(callback_mutex_);

 private:
  void give_back_locked(VariableShare& share, std::uint64_t bytes) PENSTOCK_REQUIRES(mutex_, VariableMutex::held);
  void receive(std::uint64_t bytes) PENSTOCK_EXCLUDES(mutex_, callback_mutex_);

  const std::shared_ptr<Ledger> ledger_;
  const std::uint64_t half_bytes_;
  const std::shared_ptr<Allocator> of_parts_, of_arrays_;
  mutable VariableMutex mutex_;
  std::uint64_t next_ PENSTOCK_GUARDED_BY(mutex_) = 0, behind_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::uint64_t lent_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  bool is_short_ PENSTOCK_GUARDED_BY(mutex_) = false, is_short_for_next_ PENSTOCK_GUARDED_BY(mutex_) = false;
  Mutex callback_mutex_;  // a second mutex, because the callback locks a mutex that callers of take() hold
  std::function<void()> callback_ PENSTOCK_GUARDED_BY(callback_mutex_);
};

}  // namespace penstock
