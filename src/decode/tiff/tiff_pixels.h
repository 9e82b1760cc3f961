// What the samples of a TIFF image mean: from rows as libtiff decodes them to pixels.
#pragma once

#include "decode/image/image.h"
#include "decode/image/indexed_pixels.h"

namespace penstock {

class TiffPixels {
 public:
  struct Tags {
    std::uint16_t bits = 1, samples = 1;  // of a sample; of a pixel
    std::uint16_t sample_format = 1;      // 1: whole numbers, 2: with a sign, 3: floating point
    std::uint16_t photometric = 0;
    bool separate_planes = false;
    std::uint16_t alpha = 0;  // the first extra sample: 0: none that is known, 1: premultiplied, 2: plain
    bool is_jpeg = false;
    const std::uint16_t* colours[3] = {};  // a palette of 2^bits entries; nullptr: none
  };

  // Fails, and says what it is, where such pixels are not read.
  static Result<TiffPixels> make(const Tags& tags);

  bool has_indices() const { return colour_samples_ == 1 && bits_ <= 8; }
  // How many planes are read, one after another; 1 where the samples of a pixel stand together.
  int planes() const { return separate_planes_ ? colour_samples_ : 1; }

  // Takes `count` pixels from column `x` of a row of plane `plane` to `out`. When all planes are there,
  // finish_row() makes colours of them.
  void write_row(const std::byte* row, int x, int count, int plane, PixelFormat format, std::byte* out) const;
  void finish_row(int count, PixelFormat format, std::byte* out) const;

 private:
  unsigned bits_ = 8;
  int samples_ = 1, colour_samples_ = 1;
  bool separate_planes_ = false, is_premultiplied_ = false, is_ink_ = false, is_white_zero_ = false;
  Palette palette_{};  // of one-sample pixels of up to 8 bits
};

}  // namespace penstock
