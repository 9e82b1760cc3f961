// JPEGs made by the tests themselves, with every option that a decoder must cope with, and libjpeg's own decoder, with
// which ours is compared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE
#include <functional>
#include <vector>

#include <jpeglib.h>

#include "support/picture.h"

namespace penstock {

struct JpegOptions {
  int quality = 85;
  int horizontal = 2, vertical = 2;  // sampling factors of the first component; the others have 1
  std::vector<std::array<int, 2>> sampling{};  // across and down, of every component, in place of the above
  bool progressive = false;
  int scans = 0;  // of a progressive picture of one channel: so many, of narrow bands of coefficients; 0: the usual ones
  bool arithmetic = false;
  int restart_rows = 0;
  int restart_mcus = 0;  // an interval that need not be whole rows
  bool optimised_tables = false;
  bool ycck = false;    // four channels: YCCK instead of CMYK
  int orientation = 0;  // 1-8: an EXIF block with it; 0: none
  bool big_endian_exif = false;
};

// One channel: grey; three: YCbCr; four: CMYK (Adobe's inverted sense).
Encoded encode_jpeg(const Picture& picture, const JpegOptions& options = {});

struct LibjpegOptions {
  bool four_bytes_per_pixel = false;  // RGBX, or CMYK where the file is CMYK or YCCK; else the colours libjpeg chooses
  int skip_rows = 0;                  // passed over by jpeg_skip_scanlines; they stay zeros
  bool reads_end_marker = true;       // false: nothing behind the last row is read
  std::function<void(jpeg_decompress_struct&)> when_started{};
};

// Decodes with libjpeg. Returns false where libjpeg fails or warns. Where `pixels` is nullptr, they are decoded and
// forgotten.
bool decode_by_libjpeg(const Encoded& encoded, const LibjpegOptions& options, std::vector<std::uint8_t>* pixels = nullptr);

}  // namespace penstock
