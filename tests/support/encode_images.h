// Pictures made and encoded by the tests themselves, with every option a decoder must cope with.
#pragma once

#include <cstdint>

#include "support/encode_jpeg.h"
#include "support/picture.h"

namespace penstock {

// Slopes, an edge and some noise: something in every frequency.
Picture make_picture(int width, int height, int channels, std::uint64_t seed);

struct PngOptions {
  int bit_depth = 8;  // of grey and palette pictures 1, 2, 4, 8; 16 doubles each byte
  bool interlaced = false;
  bool palette = false;  // the (one) channel holds indexes; entry i is colour (i, 255-i, 7*i)
  int idat_bytes = 0;    // chunk size; 0: libpng's own
};

// Channels: grey, grey + alpha, RGB, RGB + alpha.
Encoded encode_png(const Picture& picture, const PngOptions& options = {});

// Empty where the build has no WebP.
Encoded encode_webp(const Picture& picture, bool lossless);

}  // namespace penstock
