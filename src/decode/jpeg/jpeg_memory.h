// How much memory libjpeg allocates to decode an image. It cannot be told to use a budget, so this is
// computed from the header and reserved before it begins.
#pragma once

#include <cstdint>
#include <span>

namespace penstock {

struct JpegSampling {
  int horizontal = 1, vertical = 1;  // 1 to 4
};

// An upper bound for all sampling factors and scales. `keeps_coefficients`: the image has several scans, so
// libjpeg keeps every coefficient until the last scan is read.
std::uint64_t jpeg_working_bytes(std::uint64_t width, std::uint64_t height,
                                 std::span<const JpegSampling> components, bool keeps_coefficients);

}  // namespace penstock
