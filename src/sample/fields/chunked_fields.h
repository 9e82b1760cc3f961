// All fields of a sample that are put together from chunks of arrays. They are made together, because they may share
// chunks.
//
// Where nothing is done to the elements but flips, turns and one Normalize, they go straight from the chunks to their
// slots of the batch; else they are put together in scratch memory, and the rest of the program runs there.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sample/chunks/chunk_assembler.h"
#include "sample/field_maker.h"

namespace penstock {

class ChunkedFields final : public FieldMaker {
 public:
  // `fields`: those of the plan that are chunked.
  ChunkedFields(const FieldSetup& setup, std::vector<std::size_t> fields, ScratchBudget& budget);

  // Before make(), which may not be reached: nothing is known of the sample.
  void begin_sample() { assembler_.begin_sample(); }
  Status make(const SampleTask& task) override;
  Status measure(const SampleTask& task, UnitCost& cost) override;
  void turn_to(const SharedReads& shared) override;
  void end_sample() override;

  // The chunks of the last sample; none where it failed before they were known.
  std::span<const ChunkId> chunks() const { return assembler_.chunks(); }

 private:
  // Gives memory for the fields that do not go straight to their slots.
  using Allocate = std::function<Result<std::byte*>(std::size_t bytes)>;

  const ArrayLayout& stored_layout(std::size_t field) const;
  // Decides where the elements of all fields go.
  Status aim(std::uint64_t sample, const SampleTarget& target, const Allocate& allocate, SampleBoxes& out);
  Result<bool> aim_at_slot(std::size_t field, const SampleTarget& target, ChunkTarget& out);
  // The sample itself, as other workers see it.
  Result<OpenSamplePtr> open_own(const SampleTask& task);
  // One that no worker has begun with; nullptr where that is not possible.
  OpenSamplePtr open_other(const SampleUse& use);

  const FieldSetup setup_;
  const std::vector<std::size_t> fields_;
  ChunkAssembler assembler_;
  Lookahead* lookahead_ = nullptr;
  SampleTask task_;    // being made
  OpenSamplePtr own_;  // the sample being made; used again where nobody else has it
};

}  // namespace penstock
