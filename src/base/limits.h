// The most that a file may ask for. Every allocation whose size comes from a file is checked against these limits.
#pragma once

#include <cstdint>

namespace penstock {

struct Limits {
  std::uint64_t image_pixels = 178'956'970;              // the bound at which Pillow refuses an image
  std::uint64_t image_side = 65'500;                     // the limit of libjpeg
  std::uint64_t encoded_bytes = std::uint64_t{1} << 31;  // one encoded sample
  std::uint64_t chunk_bytes = std::uint64_t{1} << 31;    // one decoded chunk of an array
  std::uint64_t npy_header_bytes = 1 << 16;
  std::uint32_t npy_dimensions = 8;  // the most that a View holds
  std::uint32_t jpeg_scans = 500;    // malicious progressive files have thousands
};

}  // namespace penstock
