// The contents of a batch while it is being made: the values that do not lie in the slots of its block.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/memory/memory_block.h"
#include "batch/slot_layout.h"
#include "batch/variable_memory.h"

namespace penstock {

constexpr std::uint64_t kBytesPerPart = 128;  // overhead of a Part in addition to its elements

struct Part {
  ArraySpec spec;
  MemoryBlock memory;  // never empty where there is a value, even one without elements
};

struct BatchContents {
  MemoryBlock block;
  std::vector<std::vector<std::string>> texts;  // by field, then by sample; empty for fields without texts
  std::vector<std::vector<Part>> parts;
  std::vector<MemoryBlock> padded;   // by field, once all samples are there
  std::vector<Shape> padded_shapes;  // by field: the shape of one padded sample
  VariableShare variable;

  void prepare(const SlotLayout& layout, std::uint64_t samples);
};

// Removes the samples that were left out and closes the gaps. Returns how many samples remain.
std::uint64_t compact(const SlotLayout& layout, BatchContents& contents, std::byte* block,
                      const std::vector<bool>& left_out);

// Copies the parts of each kPad field into one array, as large as the largest remaining sample, and gives the
// memory of the parts back. If the answer is kLater or kNever, nothing has changed.
VariableMemory::Answer pad_parts(const SlotLayout& layout, BatchContents& contents, VariableMemory& memory,
                               const std::vector<bool>& left_out, double pad_value);

}  // namespace penstock
