// Pictures for the demo that cost a decoder as much as photographs do.
//
// Why painted: nothing is downloaded, and the spectrum decides how long a JPEG is and how fast it
// decodes. Photographs carry about the same contrast in every octave; so do these, plus
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
