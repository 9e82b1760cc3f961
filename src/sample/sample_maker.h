// Makes samples, one after another, for the scheduler.
//
// The scheduler knows samples by this interface alone: SampleWorker makes them on the calling thread; other makers may
// hand them to a device or to another process and finish them later (deferred_sample.h).
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

  // The samples that follow are those of another epoch.
  virtual void turn_to(const SharedReads& shared) = 0;

  enum class Outcome : std::uint8_t {
    kMade,
    kTooEarly,  // earlier batches hold the memory that it needs; nothing of it was left in the batch
    kDeferred,  // the deferral was used, and the sample will be completed later
  };
  // Makes the sample at `index` of the batch. Errors name it. Neither the task nor the target may be referred to after
  // the call; the batch itself stays until a deferred sample is completed.
  virtual Result<Outcome> make(const SampleTask& task, const BatchTarget& batch, std::uint64_t index,
                               Deferral& deferral) = 0;
  // The last make() failed because the batch as a whole takes too much, not because of this sample.
  virtual bool is_batch_too_large() const { return false; }
};

}  // namespace penstock
