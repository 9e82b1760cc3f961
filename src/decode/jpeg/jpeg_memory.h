// Computes how much memory libjpeg allocates to decode an image. libjpeg does not accept a budget, so the
// memory is computed from the header and reserved before decoding begins.
#pragma once

#include <cstdint>
#include <span>

namespace penstock {

struct JpegSampling {
  int horizontal = 1, vertical = 1;  // 1 to 4
};

// Returns an upper bound for all sampling factors and scales. `keeps_coefficients` says that the image has
// several scans, so that libjpeg keeps every coefficient until it has read the last scan.
std::uint64_t jpeg_working_bytes(std::uint64_t width, std::uint64_t height,
                                 std::span<const JpegSampling> components, bool keeps_coefficients);

}  // namespace penstock
