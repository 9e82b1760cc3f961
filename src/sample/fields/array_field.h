// A field of numbers that are stored together: a .npy file, bare elements of a shard, or an array in a record.
//
// An array that no step changes is read straight into its slot of the batch.
#pragma once

#include <vector>

#include "sample/field_maker.h"

namespace penstock {

class ArrayField final : public FieldMaker {
 public:
  static bool applies(const FieldSetup& setup, std::size_t field);
  ArrayField(const FieldSetup& setup, std::size_t field);

  Status make(const SampleTask& task) override;
  Status measure(const SampleTask& task, UnitCost& cost) override;

 private:
  const FieldPlan& field() const { return setup_.plan.fields[field_]; }
  FieldRead read_of(const SampleTask& task) const { return {field(), field_, task.position, task.sample}; }
  // Reads the array straight into its slot. Returns false if a step changes it, or if it cannot be read in this way.
  Result<bool> read_in_place(const SampleTask& task);
  Result<View> decode(const RecordValue& found);

  const FieldSetup setup_;
  const std::size_t field_;
  const ArrayLayout* const layout_;  // nullptr: samples may differ in type or shape
  const bool may_be_in_place_;
  std::vector<std::byte> header_;  // header of the file that was read in place
  std::int64_t integer_ = 0;       // value of a label that is stored as text
};

}  // namespace penstock
