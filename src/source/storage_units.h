// The storage units of a source: which samples are stored together.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

// Runs of consecutive samples that are stored, and best read, together.
struct StorageUnits {
  std::vector<std::uint64_t> first_sample;  // of each unit, followed by the number of samples
  // For each unit the stream that it is part of, where units of a stream can only be read one after another. Empty:
  // units can be read in any order.
  std::vector<std::uint32_t> stream;
};

}  // namespace penstock
