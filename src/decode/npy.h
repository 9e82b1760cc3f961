// Reads the header of a .npy file as NumPy writes it (format 1.0 to 3.0), and checks that it is consistent.
//
// Arrays of objects (pickles) are refused, because reading data must never run code.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/limits.h"
#include "penstock/array.h"
#include "penstock/result.h"

namespace penstock {

struct NpyHeader {
  ArraySpec array;
  bool fortran_order = false;
  bool big_endian = false;
  std::uint64_t data_offset = 0;

  std::uint64_t data_bytes() const { return array.bytes(); }
  bool operator==(const NpyHeader&) const = default;
};

// Computes the size of the whole header from the first 12 bytes (kNpyPrefix) of a file.
constexpr std::size_t kNpyPrefix = 12;
Result<std::uint64_t> npy_header_size(ConstBytes prefix, const Limits& limits);

// `bytes` begins at the file's start and holds at least the header.
Result<NpyHeader> parse_npy_header(ConstBytes bytes, const Limits& limits);

// Fails unless the size of the file is exactly that of the header and the data.
Status check_npy_size(const NpyHeader& header, std::uint64_t file_bytes);

// The header that NumPy writes before such an array in C order, padded to a multiple of 64 bytes. Empty for bfloat16,
// which the format does not have.
std::vector<std::byte> npy_header_of(const ArraySpec& array);

}  // namespace penstock
