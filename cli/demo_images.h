// The demo's data set: a folder of painted JPEGs in ten class folders, made once and found again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "penstock/result.h"

namespace penstock::cli {

struct DemoImages {
  std::string folder;
  std::uint64_t count = 400;
  std::uint64_t seed = 1;
};

// Everything is there, made with the same numbers.
bool is_complete(const DemoImages& images);

// Makes them anew. Touches nothing in a folder that has files and was not made by the demo.
// `progress` is called from the calling thread.
Status make_demo_images(const DemoImages& images, unsigned threads,
                        const std::function<void(std::uint64_t done)>& progress);

}  // namespace penstock::cli
