// Delivers finished batches to the consumers that wait for them: in order, each as soon as all of its samples are done.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "pipeline/scheduler/running_epochs.h"

namespace penstock {

// A batch whose samples are all done.
struct FinishedBatch {
  std::shared_ptr<void> memory;  // owns everything below; it is lent
  std::byte* block = nullptr;
  BatchContents* contents = nullptr;
  std::uint64_t variable_bytes = 0;
  std::uint64_t planned = 0, kept = 0, replaced = 0;
  bool padded = false;
  std::vector<Error> errors;  // of samples that were skipped or replaced, or the one that fails the batch
  bool failed = false;
};

// Thread-safe. Several threads may wait, each for an epoch of its own.
class BatchDelivery {
 public:
  enum class Wait : std::uint8_t { kBatch, kEnd, kPending, kCancelled };

  // Borrows all arguments.
  BatchDelivery(RunningEpochs& epochs, const SlotLayout& layout, BatchPool& pool, VariableMemory& variable_memory)
      : epochs_(epochs),
        layout_(layout),
        pool_(pool),
        variable_memory_(variable_memory) {}

  Wait next(RunningEpoch& run, FinishedBatch& out, std::chrono::milliseconds patience)
      PENSTOCK_EXCLUDES(SchedulerMutex::held);

 private:
  Wait take_next(RunningEpoch& run, std::chrono::milliseconds patience, FinishedBatch& out,
                 std::shared_ptr<OpenBatch>& batch) PENSTOCK_EXCLUDES(SchedulerMutex::held);
  bool wait_for(RunningEpoch& run, std::chrono::milliseconds patience)
      PENSTOCK_REQUIRES(epochs_.mutex, SchedulerMutex::held);
  bool is_answered(const RunningEpoch& run) const PENSTOCK_REQUIRES(SchedulerMutex::held);
  void lend(OpenBatch& batch, FinishedBatch& out);
  void describe(OpenBatch& batch, FinishedBatch& out) const;

  RunningEpochs& epochs_;
  const SlotLayout& layout_;
  BatchPool& pool_;
  VariableMemory& variable_memory_;
  std::uint64_t questions_ PENSTOCK_GUARDED_BY(SchedulerMutex::held) = 0;
};

}  // namespace penstock
