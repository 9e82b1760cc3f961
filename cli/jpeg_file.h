// Writes a picture as a baseline JPEG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/result.h"

namespace penstock::cli {

struct Picture {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;  // rows from the top, three bytes per pixel
};

Status write_jpeg(const Picture& picture, int quality, const std::string& path);

}  // namespace penstock::cli
