// Reads a small chunked array, such as a coordinate, as a whole.
#pragma once

#include <vector>

#include "source/chunked_array.h"

namespace penstock {

// All elements in C order, as doubles. Fails if there are more than `max_elements`, and for complex numbers.
Result<std::vector<double>> read_numbers(const ChunkedArray& array, std::uint64_t max_elements);

// The same as integers, so that 64-bit integers stay exact.
Result<std::vector<std::int64_t>> read_integers(const ChunkedArray& array, std::uint64_t max_elements);

}  // namespace penstock
