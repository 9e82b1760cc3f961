// Paints pictures for the demo that take a decoder as long as photographs do.
//
// Why: nothing has to be downloaded. The spectrum of a picture decides how large a JPEG is and how fast it
// decodes. Photographs have about the same contrast in every octave. So do these pictures, and they have
// gradients, objects with edges, and grain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "jpeg_file.h"

namespace penstock::cli {

constexpr std::size_t kDemoClasses = 10;
std::string_view demo_class_name(std::size_t label);

// A pure function of its arguments.
Picture paint_demo_picture(std::uint64_t seed, std::uint64_t index, std::size_t label);

}  // namespace penstock::cli
