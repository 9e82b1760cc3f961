// Converts rows of samples, as libtiff decodes them, to pixels.
#pragma once

#include "decode/image/image.h"
#include "decode/image/indexed_pixels.h"

namespace penstock {

class TiffPixels {
 public:
  struct Tags {
    std::uint16_t bits = 1, samples = 1;  // bits per sample, samples per pixel
    std::uint16_t sample_format = 1;      // 1: unsigned, 2: signed, 3: floating point
    std::uint16_t photometric = 0;
    bool separate_planes = false;
    std::uint16_t alpha = 0;  // the first extra sample: 0: none that is known, 1: premultiplied, 2: plain
    bool is_jpeg = false;
    const std::uint16_t* colours[3] = {};  // a palette of 2^bits entries; nullptr: none
  };

  // Fails, and names the kind of pixels, if they are not supported.
  static Result<TiffPixels> make(const Tags& tags);

  bool has_indices() const { return colour_samples_ == 1 && bits_ <= 8; }
  // The number of planes, which are read one after another; 1 if the samples of a pixel are interleaved.
  int planes() const { return separate_planes_ ? colour_samples_ : 1; }

  // Writes `count` pixels from column `x` of a row of plane `plane` to `out`. After all planes, finish_row()
  // computes the colours.
  void write_row(const std::byte* row, int x, int count, int plane, PixelFormat format, std::byte* out) const;
  void finish_row(int count, PixelFormat format, std::byte* out) const;

 private:
  unsigned bits_ = 8;
  int samples_ = 1, colour_samples_ = 1;
  bool separate_planes_ = false, is_premultiplied_ = false, is_ink_ = false, is_white_zero_ = false;
  Palette palette_{};  // for pixels of one sample with up to 8 bits
};

}  // namespace penstock
