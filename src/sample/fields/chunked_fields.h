// Makes all fields of a sample that consist of chunks of arrays. They are made together, because they may share chunks.
//
// If the steps of a field are only flips, rotations and one Normalize, its elements are copied straight from the chunks
// to their slots of the batch. Otherwise they are copied to scratch memory, where the rest of the program runs.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sample/chunks/chunk_assembler.h"
#include "sample/field_maker.h"

namespace penstock {

class ChunkedFields final : public FieldMaker {
 public:
  // `fields` are the indexes of the chunked fields in the plan.
  ChunkedFields(const FieldSetup& setup, std::vector<std::size_t> fields, ScratchBudget& budget);

  // Called before make(), which may not be reached. Forgets the sample before.
  void begin_sample() { assembler_.begin_sample(); }
  Status make(const SampleTask& task) override;
  Status measure(const SampleTask& task, UnitCost& cost) override;
  void turn_to(const SharedReads& shared) override;
  void end_sample() override;

  // Returns the chunks of the last sample; empty if it failed before they were known.
  std::span<const ChunkId> chunks() const { return assembler_.chunks(); }

 private:
  // Allocates memory for fields that are not copied straight to their slots.
  using Allocate = std::function<Result<std::byte*>(std::size_t bytes)>;

  const ArrayLayout& stored_layout(std::size_t field) const;
  // Decides where the elements of all fields go.
  Status aim(std::uint64_t sample, const SampleTarget& target, const Allocate& allocate, SampleBoxes& out);
  Result<bool> aim_at_slot(std::size_t field, const SampleTarget& target, ChunkTarget& out);
  // Opens the sample of this worker, so that other workers can copy chunks to it.
  Result<OpenSamplePtr> open_own(const SampleTask& task);
  // Opens a sample that no worker has begun with. Returns nullptr if that is not possible.
  OpenSamplePtr open_other(const SampleUse& use);

  const FieldSetup setup_;
  const std::vector<std::size_t> fields_;
  ChunkAssembler assembler_;
  Lookahead* lookahead_ = nullptr;
  SampleTask task_;    // the task of the sample being made
  OpenSamplePtr own_;  // the sample being made; reused for the next one if no other worker refers to it
};

}  // namespace penstock
