// A small chunked array as a whole: coordinates.
#pragma once

#include <vector>

#include "source/chunked_array.h"

namespace penstock {

// All elements in C order, as doubles. Fails above `max_elements`, and for complex numbers.
Result<std::vector<double>> read_numbers(const ChunkedArray& array, std::uint64_t max_elements);

// The same as integers, which keeps all digits of an array of integers.
Result<std::vector<std::int64_t>> read_integers(const ChunkedArray& array, std::uint64_t max_elements);

}  // namespace penstock
