// Makes one sample, from the source to its slot of the batch, by a loop over the makers of its fields.
#pragma once

#include <memory>
#include <vector>

#include "base/stats.h"
#include "decode/image/image.h"
#include "fetch/bytes/sample_bytes.h"
#include "plan/sample_plan.h"
#include "sample/delivery.h"
#include "sample/field_maker.h"
#include "sample/fields/chunked_fields.h"
#include "sample/sample_maker.h"
#include "sample/unit_cost.h"
#include "sample/value_flow.h"

namespace penstock {

// The part of a loader's memory that measuring a few samples may use, before it is divided among the workers.
struct ProbeMemory {
  Ledger& ledger;
  std::uint64_t bytes = 0;
};

// Belongs to one thread. Plan, budget, counters and the readers in `shared` are borrowed and outlive it.
class SampleWorker final : public SampleMaker {
 public:
  // The cache of `shared` stays the same; everything else in it may change with turn_to().
  SampleWorker(const SamplePlan& plan, ScratchBudget& budget, WorkerCounters& counters,
               const SharedReads& shared = {});

  void turn_to(const SharedReads& shared) override;
  Result<Outcome> make(const SampleTask& task, const BatchTarget& batch, std::uint64_t index,
                       Deferral& deferral) override;
  bool is_batch_too_large() const override { return delivery_.is_batch_too_large(); }

  // Returns the type and shape that each field of this sample would have in a batch.
  Result<std::vector<MeasuredField>> measure(std::uint64_t sample);
  // Measures reading and decoding everything that is stored of the sample, or one of its chunks if it is made of
  // chunks.
  Result<UnitCost> measure_unit(std::uint64_t sample);
  // Makes the sample and calls `look` with the value of each field.
  Status look_at(std::uint64_t sample, const LookAtField& look);

 private:
  Status make_sample(const SampleTask& task, const SampleTarget& target);
  Status make_fields(const SampleTask& task);
  void end_sample();
  Where source_itself() const { return {plan_.source->uri(), -1, -1, -1}; }

  const SamplePlan& plan_;
  const bool is_cached_;
  Scratch scratch_;
  StageClock clock_;
  Context context_;
  ImageDecoder decoder_;
  ReadOrigin origin_;
  SampleBytes bytes_;
  Delivery delivery_;
  ValueFlow flow_;
  std::unique_ptr<ChunkedFields> chunked_;           // nullptr: no field is chunked
  std::vector<std::unique_ptr<FieldMaker>> makers_;  // by field; nullptr: the maker of another field makes it too
  Lookahead* lookahead_ = nullptr;
};

}  // namespace penstock
