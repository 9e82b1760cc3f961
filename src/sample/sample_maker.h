// Makes samples, one after another, for the scheduler.
//
// This is the only interface through which the scheduler makes samples. SampleWorker makes them on the calling thread;
// other makers may hand them to a device or to another process and finish them later (deferred_sample.h).
//
// A maker belongs to one worker thread.
#pragma once

#include <cstdint>

#include "fetch/shared_reads.h"
#include "penstock/result.h"
#include "sample/batch_target.h"
#include "sample/deferred_sample.h"
#include "sample/field_maker.h"

namespace penstock {

class SampleMaker {
 public:
  virtual ~SampleMaker() = default;

  // Called when the samples that follow belong to another epoch.
  virtual void turn_to(const SharedReads& shared) = 0;

  enum class Outcome : std::uint8_t {
    kMade,
    kTooEarly,  // earlier batches hold the memory that it needs; nothing of the sample is in the batch
    kDeferred,  // the deferral was used, and the sample is completed later
  };
  // Makes the sample at `index` of the batch. Errors name it. Task and target are borrowed for the call; the batch
  // itself exists until a deferred sample is completed.
  virtual Result<Outcome> make(const SampleTask& task, const BatchTarget& batch, std::uint64_t index,
                               Deferral& deferral) = 0;
  // Whether the last make() failed because the batch as a whole needs too much memory.
  virtual bool is_batch_too_large() const { return false; }
};

}  // namespace penstock
