// What a batch in the making holds: the block with its slots, and what varies from sample to sample.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/memory/memory_block.h"
#include "batch/slot_layout.h"
#include "batch/variable_memory.h"

namespace penstock {

constexpr std::uint64_t kBytesPerPart = 128;  // besides its elements

struct Part {
  ArraySpec spec;
  std::unique_ptr<std::byte[]> data;
};

struct BatchContents {
  MemoryBlock block;
  std::vector<std::vector<std::string>> texts;  // by field, then sample; empty where it has none
  std::vector<std::vector<Part>> parts;
  std::vector<MemoryBlock> padded;   // by field, once the batch is whole
  std::vector<Shape> padded_shapes;  // of one sample
  VariableShare variable;

  void prepare(const SlotLayout& layout, std::uint64_t samples);
};

// Closes the gaps that samples left out leave; returns how many samples remain.
std::uint64_t compact(const SlotLayout& layout, BatchContents& contents, std::byte* block,
                      const std::vector<bool>& left_out);

// The parts of each kPad field in one array, as large as the largest of the samples that are kept,
// and the room of the parts given back. kLater and kNever leave everything as it was.
VariableMemory::Answer pad_parts(const SlotLayout& layout, BatchContents& contents, VariableMemory& memory,
                               const std::vector<bool>& left_out, double pad_value);

}  // namespace penstock
