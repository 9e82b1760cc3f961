// The data set of the demo: painted JPEGs in ten class folders. They are made once and used again by later
// runs.
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

// Returns whether all images exist and were made with the same parameters.
bool is_complete(const DemoImages& images);

// Makes all images. Fails, and changes nothing, if the folder has files and was not made by the demo.
// `progress` is called from the calling thread.
Status make_demo_images(const DemoImages& images, unsigned threads,
                        const std::function<void(std::uint64_t done)>& progress);

}  // namespace penstock::cli
