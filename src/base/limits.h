// What a file may ask of us at most. Every allocation whose size comes from a file passes here.
#pragma once

#include <cstdint>

namespace penstock {

struct Limits {
  std::uint64_t image_pixels = 178'956'970;              // the bound at which Pillow refuses an image
  std::uint64_t image_side = 65'500;                     // libjpeg's own
  std::uint64_t encoded_bytes = std::uint64_t{1} << 31;  // one encoded sample
  std::uint64_t chunk_bytes = std::uint64_t{1} << 31;    // one decoded chunk of an array
  std::uint64_t npy_header_bytes = 1 << 16;
  std::uint32_t npy_dimensions = 8;  // what a View holds
  std::uint32_t jpeg_scans = 500;    // progressive bombs have thousands
};

}  // namespace penstock
