// A batch in the making: the scheduler's record of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/guarded.h"
#include "batch/batch_contents.h"
#include "order/rank_slice.h"
#include "penstock/result.h"

namespace penstock {

class Scheduler;
using SchedulerMutex = ClassMutex<Scheduler>;

// A sample that failed and needs a stand-in.
struct Replacement {
  std::uint64_t index = 0;  // in the batch
  Error error;              // why the sample itself could not be made
  int attempts = 0;         // stand-ins that were tried
};

// What went wrong with the samples of a batch.
struct BatchTrouble {
  std::vector<bool> left_out;
  std::vector<Error> errors;
  std::uint64_t replaced = 0;
  bool failed = false;
  std::optional<Error> too_large;  // the batch as a whole, not one of its samples, needs too much memory
};

struct OpenBatch {
  PositionRange range;
  std::shared_ptr<BatchContents> contents = std::make_shared<BatchContents>();

  std::uint64_t claimed PENSTOCK_GUARDED_BY(SchedulerMutex::held) = 0;
  std::uint64_t done PENSTOCK_GUARDED_BY(SchedulerMutex::held) = 0;
  unsigned workers PENSTOCK_GUARDED_BY(SchedulerMutex::held) = 0;  // claims and deferred samples in progress
  // Samples that are made when this batch is the next to be delivered.
  std::vector<std::uint64_t> put_off PENSTOCK_GUARDED_BY(SchedulerMutex::held);
  std::vector<Replacement> to_replace PENSTOCK_GUARDED_BY(SchedulerMutex::held);  // deferred samples that failed
  // All samples are made and, if needed, padded.
  bool is_complete PENSTOCK_GUARDED_BY(SchedulerMutex::held) = false;
  bool is_being_completed PENSTOCK_GUARDED_BY(SchedulerMutex::held) = false;

  Mutex trouble_mutex;  // errors are rare, so they have a mutex of their own
  BatchTrouble trouble PENSTOCK_GUARDED_BY(trouble_mutex);

  bool is_made() const PENSTOCK_REQUIRES(SchedulerMutex::held) { return done == range.count; }
  bool is_ready() const PENSTOCK_REQUIRES(SchedulerMutex::held) { return is_made() && is_complete; }
};

}  // namespace penstock
