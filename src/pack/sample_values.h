// Makes the values of one sample after another for packing: takes them from the index, copies stored bytes, or decodes and
// transforms them as for a batch.
//
// Belongs to one worker thread. Everything that it is made with is borrowed and outlives it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "pack/packed_fields.h"
#include "pack/prepared_sample.h"
#include "sample/sample_worker.h"

namespace penstock {

class SampleValues {
 public:
  SampleValues(const Source& source, const PackedFields& fields, const FieldPlans& plans, ScratchBudget& budget,
               const SharedReads& shared);

  // Shows each value once. A field that this sample may lack, and does, is left out. Errors name the sample; an error of
  // `take` is returned as it is.
  using Take = std::function<Status(const PackedValue&)>;
  Status visit(std::uint64_t sample, const Take& take);

  // The values that visit() shows need not be written: pixels are shown as they are, before they are encoded.
  void only_measure() { measures_ = true; }

 private:
  Status visit_index(std::uint64_t sample, const Take& take);
  Status visit_copied(std::uint64_t sample, const Take& take);
  Status visit_made(std::uint64_t sample, const Take& take);
  Status take_copied(std::uint32_t field, const Extent& extent, const RecordValue& found, const Take& take);
  Status take_made(std::uint32_t field, const SeenField& seen, const FieldPlan& plan, const Take& take) const;
  // Whether the error only says that the sample lacks a field that it may lack.
  bool is_missing(std::uint64_t sample, std::uint32_t field, const Error& error) const;

  const Source& source_;
  const PackedFields& fields_;
  const FieldPlans& plans_;
  const SharedReads shared_;
  WorkerCounters counters_;
  Scratch scratch_;
  StageClock clock_;
  ReadOrigin origin_;
  std::unique_ptr<SampleBytes> bytes_;                 // nullptr: nothing is copied
  std::vector<std::unique_ptr<SampleWorker>> makers_;  // by FieldPlans::made
  bool measures_ = false;
};

}  // namespace penstock
