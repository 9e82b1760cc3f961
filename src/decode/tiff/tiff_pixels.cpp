#include "decode/tiff/tiff_pixels.h"

#include <fmt/format.h>

#include <algorithm>

#include "decode/image/cmyk.h"

namespace penstock {
namespace {

// The photometric interpretations, with TIFF's numbers.
enum Photometric : std::uint16_t { kWhiteIsZero = 0, kBlackIsZero = 1, kRgb = 2, kPalette = 3, kInk = 5, kYcbcr = 6 };

constexpr std::uint16_t kMaxSamples = 8;

std::unexpected<Error> not_read(const std::string& what) {
  return fail(ErrorCode::kUnsupported, fmt::format("a TIFF image {} is not read", what));
}

const char* name_of_photometric(std::uint16_t photometric) {
  switch (photometric) {
    case kYcbcr: return "of YCbCr samples without JPEG compression";
    case 4: return "that is a transparency mask";
    case 8: case 9: case 10: return "of CIE L*a*b* samples";
    case 32844: case 32845: return "of logarithmic samples";
    default: return "with an unknown meaning of its samples";
  }
}

int colour_samples_of(std::uint16_t photometric) {
  switch (photometric) {
    case kWhiteIsZero: case kBlackIsZero: case kPalette: return 1;
    case kRgb: case kYcbcr: return 3;  // JPEG's YCbCr becomes RGB in libjpeg
    case kInk: return 4;
    default: return 0;
  }
}

}  // namespace

Result<TiffPixels> TiffPixels::make(const Tags& tags) {
  TiffPixels pixels;
  pixels.bits_ = tags.bits;
  pixels.samples_ = tags.samples;
  pixels.colour_samples_ = colour_samples_of(tags.photometric);
  pixels.separate_planes_ = tags.separate_planes && tags.samples > 1;
  pixels.is_ink_ = tags.photometric == kInk;
  pixels.is_white_zero_ = tags.photometric == kWhiteIsZero;
  pixels.is_premultiplied_ = tags.alpha == 1 && tags.samples > pixels.colour_samples_;
  const bool is_plain_ycbcr = tags.photometric == kYcbcr && (!tags.is_jpeg || pixels.separate_planes_);
  if (pixels.colour_samples_ == 0 || is_plain_ycbcr) return not_read(name_of_photometric(tags.photometric));
  if (tags.samples < pixels.colour_samples_ || tags.samples > kMaxSamples)
    return not_read(fmt::format("with {} samples per pixel", tags.samples));
  const bool is_signed_byte = tags.sample_format == 2 && tags.bits == 8 && tags.photometric == kBlackIsZero;
  if (tags.sample_format == 3) return not_read("of floating-point samples");
  if (tags.sample_format != 1 && !is_signed_byte) return not_read("of signed or unknown samples");
  const bool is_small = (tags.bits == 1 || tags.bits == 2 || tags.bits == 4) && tags.samples == 1;
  if (!is_small && tags.bits != 8 && (tags.bits != 16 || tags.photometric == kPalette))
    return not_read(fmt::format("of {} bits per sample with {} samples per pixel", tags.bits, tags.samples));
  if (pixels.is_premultiplied_ && (pixels.separate_planes_ || pixels.is_ink_ || pixels.colour_samples_ == 1))
    return not_read("with premultiplied alpha beside grey, ink or separate planes");
  if (!pixels.has_indices()) return pixels;
  if (tags.photometric == kPalette && tags.colours[0] == nullptr) return not_read("without its palette");
  const unsigned most = (1u << tags.bits) - 1;
  for (unsigned i = 0; i <= most; ++i) {
    if (tags.photometric == kPalette) {
      const auto colour = [&](int c) { return static_cast<std::uint8_t>(tags.colours[c][i] >> 8); };
      pixels.palette_[i] = {colour(0), colour(1), colour(2), 0xFF};
    } else {
      const auto level = static_cast<std::uint8_t>((pixels.is_white_zero_ ? most - i : i) * 255 / most);
      pixels.palette_[i] = {level, level, level, 0xFF};
    }
  }
  return pixels;
}

void TiffPixels::write_row(const std::byte* row, int x, int count, int plane, PixelFormat format,
                           std::byte* out) const {
  const int step = separate_planes_ ? 1 : samples_;
  if (has_indices() && step == 1)
    return write_indexed_row(row, bits_, x, count, palette_, format, out);
  const std::ptrdiff_t sample_bytes = bits_ / 8, pixel_bytes = sample_bytes * step;
  // libtiff returns 16-bit numbers in the byte order of this machine, in which the high byte comes second.
  const std::byte* sample = row + x * pixel_bytes + (sample_bytes - 1);
  if (has_indices()) {
    for (int i = 0; i < count; ++i, sample += pixel_bytes)
      write_indexed_row(sample, 8, 0, 1, palette_, format,
                        out + i * static_cast<std::ptrdiff_t>(decoded_pixel_bytes(format)));
    return;
  }
  const int wanted = separate_planes_ ? 1 : std::min(4, samples_);
  for (int i = 0; i < count; ++i, sample += pixel_bytes, out += 4)
    for (int c = 0; c < wanted; ++c) out[plane + c] = sample[c * sample_bytes];
}

void TiffPixels::finish_row(int count, PixelFormat format, std::byte* out) const {
  if (has_indices() || format == PixelFormat::kIndex) return;
  auto* pixel = reinterpret_cast<std::uint8_t*>(out);
  for (int i = 0; i < count; ++i, pixel += 4) {
    if (colour_samples_ == 1) {
      if (is_white_zero_) pixel[0] = static_cast<std::uint8_t>(255 - pixel[0]);
      pixel[1] = pixel[2] = pixel[0];
    } else if (is_ink_) {
      const unsigned white = 255u - pixel[3];
      for (int c = 0; c < 3; ++c) pixel[c] = light_under_ink(pixel[c], white);
    } else if (is_premultiplied_ && pixel[3] != 255) {
      // As in Pillow, a fully transparent pixel is black.
      for (int c = 0; c < 3; ++c)
        pixel[c] = pixel[3] == 0 ? std::uint8_t{0}
                                 : static_cast<std::uint8_t>(std::min(255, 255 * pixel[c] / pixel[3]));
    }
  }
}

}  // namespace penstock
