// Pictures made and encoded by the tests themselves, with every option a decoder must cope with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock {

using Encoded = std::vector<std::byte>;

struct Picture {
  int width = 0, height = 0, channels = 3;
  std::vector<std::uint8_t> pixels;  // packed rows

  std::uint8_t at(int x, int y, int c) const {
    return pixels[(static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                   static_cast<std::size_t>(x)) *
                      static_cast<std::size_t>(channels) +
                  static_cast<std::size_t>(c)];
  }
};

// Slopes, an edge and some noise: something in every frequency.
Picture make_picture(int width, int height, int channels, std::uint64_t seed);

struct JpegOptions {
  int quality = 85;
  int horizontal = 2, vertical = 2;  // sampling factors of the first component; the others have 1
  bool progressive = false;
  bool arithmetic = false;
  int restart_rows = 0;
  bool ycck = false;    // four channels: YCCK instead of CMYK
  int orientation = 0;  // 1-8: an EXIF block with it; 0: none
  bool big_endian_exif = false;
};

// One channel: grey; three: YCbCr; four: CMYK (Adobe's inverted sense).
Encoded encode_jpeg(const Picture& picture, const JpegOptions& options = {});

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
