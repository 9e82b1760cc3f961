// PBM, PGM and PPM, written in letters (P1 to P3) or in bytes (P4 to P6). Samples that do not reach to 255
// are scaled to it and rounded as Pillow does; that holds for 16-bit samples as well.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "decode/image/grey.h"
#include "decode/image/image_formats.h"
#include "decode/image/indexed_pixels.h"
#include "decode/interrupted.h"

namespace penstock {
namespace {

std::unexpected<Error> truncated_pnm() { return fail(ErrorCode::kTruncated, "truncated PNM"); }

// Reads decimal numbers that are separated by white space and comments.
class PnmText {
 public:
  explicit PnmText(ConstBytes bytes, std::size_t at = 0) : bytes_(bytes), at_(at) {}

  std::size_t at() const { return at_; }

  // Consumes one white-space character after the number, because binary pixels begin right after it.
  Result<std::uint64_t> number() {
    constexpr std::size_t kMaxDigits = 10;
    std::uint64_t value = 0;
    std::size_t digits = 0;
    while (at_ < bytes_.size()) {
      const auto letter = std::to_integer<unsigned char>(bytes_[at_++]);
      if (letter == '#') {
        skip_comment();
      } else if (std::isspace(letter) != 0) {
        if (digits > 0) return value;
      } else if (std::isdigit(letter) == 0 || ++digits > kMaxDigits) {
        return fail(ErrorCode::kCorrupt, "bad PNM (not a number at byte " + std::to_string(at_ - 1) + ")");
      } else {
        value = value * 10 + (letter - '0');
      }
    }
    if (digits > 0) return value;
    return truncated_pnm();
  }

  // Reads one digit, 0 or 1. In a PBM they need not be separated.
  Result<std::uint64_t> bit() {
    while (at_ < bytes_.size()) {
      const auto letter = std::to_integer<unsigned char>(bytes_[at_++]);
      if (letter == '#')
        skip_comment();
      else if (letter == '0' || letter == '1')
        return letter - std::uint64_t{'0'};
      else if (std::isspace(letter) == 0)
        return fail(ErrorCode::kCorrupt, "bad PNM (not 0 or 1 at byte " + std::to_string(at_ - 1) + ")");
    }
    return truncated_pnm();
  }

 private:
  void skip_comment() {
    while (at_ < bytes_.size() && bytes_[at_] != std::byte{'\n'} && bytes_[at_] != std::byte{'\r'}) ++at_;
    if (at_ < bytes_.size()) ++at_;
  }

  ConstBytes bytes_;
  std::size_t at_;
};

class PnmCodec final : public ImageCodec {
 public:
  explicit PnmCodec(const Limits& limits) : limits_(limits) {}

  Result<ImageHeader> open(ConstBytes encoded) override {
    encoded_ = encoded;
    const int kind = std::to_integer<int>(encoded[1]) - '0';  // 1 to 6, as the table of formats has checked
    is_text_ = kind <= 3;
    is_bits_ = kind % 3 == 1;
    channels_ = kind % 3 == 0 ? 3 : 1;
    PnmText text(encoded, 2);
    const auto width = text.number();
    if (!width) return std::unexpected(width.error());
    const auto height = text.number();
    if (!height) return std::unexpected(height.error());
    PENSTOCK_CHECK(check_image_size(*width, *height, limits_));
    width_ = static_cast<std::size_t>(*width);
    height_ = static_cast<std::size_t>(*height);
    most_ = 1;
    if (!is_bits_) {
      const auto most = text.number();
      if (!most) return std::unexpected(most.error());
      if (*most == 0 || *most > 65535)
        return fail(ErrorCode::kCorrupt, fmt::format("bad PNM (the largest sample is {})", *most));
      most_ = static_cast<unsigned>(*most);
    }
    pixels_at_ = text.at();
    if (!is_text_ && row_bytes() * height_ > encoded.size() - pixels_at_) return truncated_pnm();
    make_shades();
    return ImageHeader{static_cast<int>(width_), static_cast<int>(height_), 1, 0};
  }

  std::size_t buffer_bytes(const DecodeRequest& request) const override {
    return decoded_region_bytes(request);
  }

  Result<PixelView> decode(const DecodeRequest& request, MutableBytes buffer) override {
    if (request.format == PixelFormat::kIndex && (channels_ != 1 || most_ > 255))
      return fail(ErrorCode::kUnsupported, "a mask must be grey, of 8 bits");
    if (buffer_bytes(request) > buffer.size())
      return fail(ErrorCode::kNoMemory, "region larger than its buffer");
    if (is_text_)
      PENSTOCK_CHECK(read_text(request, buffer.data()));
    else
      read_bytes(request, buffer.data());
    return finish_region(request, buffer);
  }

 private:
  std::size_t sample_bytes() const { return most_ > 255 ? 2 : 1; }
  std::size_t row_bytes() const {
    return is_bits_ ? (width_ + 7) / 8 : width_ * static_cast<std::size_t>(channels_) * sample_bytes();
  }

  std::uint8_t scaled(unsigned sample) const {
    if (most_ == 255) return static_cast<std::uint8_t>(sample);
    const double level = std::nearbyint(static_cast<double>(sample) / most_ * 255);
    return static_cast<std::uint8_t>(std::min(level, 255.0));
  }

  // Makes the lookup table for samples of one byte. In a PBM, a set bit is black.
  void make_shades() {
    for (unsigned i = 0; i < shades_.size(); ++i) {
      const std::uint8_t level = is_bits_ ? (i == 0 ? 255 : 0) : scaled(i);
      shades_[i] = {level, level, level, 0xFF};
    }
  }

  void write_pixel(const std::array<unsigned, 3>& samples, PixelFormat format, std::byte* out) const {
    if (format == PixelFormat::kIndex) {
      *out = static_cast<std::byte>(samples[0]);
      return;
    }
    Rgbx colour;
    if (most_ <= 255)
      colour = {shades_[samples[0]].red, shades_[samples[1]].red, shades_[samples[2]].red, 0xFF};
    else
      colour = {scaled(samples[0]), scaled(samples[1]), scaled(samples[2]), 0xFF};
    std::memcpy(out, &colour, 4);
  }

  void read_bytes(const DecodeRequest& request, std::byte* out) const {
    const Rect& region = request.region;
    const std::size_t pixel_bytes = decoded_pixel_bytes(request.format);
    for (int y = 0; y < region.height; ++y) {
      const std::byte* row =
          encoded_.data() + pixels_at_ + static_cast<std::size_t>(region.y + y) * row_bytes();
      if (channels_ == 1 && sample_bytes() == 1) {
        write_indexed_row(row, is_bits_ ? 1 : 8, region.x, region.width, shades_, request.format, out);
        out += static_cast<std::size_t>(region.width) * pixel_bytes;
        continue;
      }
      const std::size_t step = static_cast<std::size_t>(channels_) * sample_bytes();
      row += static_cast<std::size_t>(region.x) * step;
      for (int x = 0; x < region.width; ++x, row += step, out += pixel_bytes) {
        std::array<unsigned, 3> samples;
        for (int c = 0; c < 3; ++c) {
          const std::byte* sample = row + static_cast<std::size_t>(channels_ == 1 ? 0 : c) * sample_bytes();
          samples[static_cast<std::size_t>(c)] = std::to_integer<unsigned>(sample[0]);
          if (sample_bytes() == 2)
            samples[static_cast<std::size_t>(c)] =
                samples[static_cast<std::size_t>(c)] << 8 | std::to_integer<unsigned>(sample[1]);
        }
        write_pixel(samples, request.format, out);
      }
    }
  }

  // Numbers have no fixed width, so all pixels up to the region's end are read.
  Status read_text(const DecodeRequest& request, std::byte* out) const {
    const Rect& region = request.region;
    PnmText text(encoded_, pixels_at_);
    for (int y = 0; y < region.y + region.height; ++y) {
      PENSTOCK_CHECK(check_decoding_wanted());
      for (int x = 0; x < static_cast<int>(width_); ++x) {
        std::array<unsigned, 3> samples{};
        for (int c = 0; c < channels_; ++c) {
          const auto value = is_bits_ ? text.bit() : text.number();
          if (!value) return std::unexpected(value.error());
          if (*value > most_)
            return fail(ErrorCode::kCorrupt,
                        fmt::format("bad PNM (a sample is {}, the largest is to be {})", *value, most_));
          samples[static_cast<std::size_t>(c)] = static_cast<unsigned>(*value);
        }
        if (channels_ == 1) samples[1] = samples[2] = samples[0];
        if (y < region.y || x < region.x || x >= region.x + region.width) continue;
        write_pixel(samples, request.format, out);
        out += decoded_pixel_bytes(request.format);
      }
    }
    return {};
  }

  Limits limits_;
  ConstBytes encoded_;
  std::size_t width_ = 0, height_ = 0, pixels_at_ = 0;
  unsigned most_ = 1;  // the sample that means white
  int channels_ = 1;
  bool is_text_ = false, is_bits_ = false;
  Palette shades_{};
};

}  // namespace

std::unique_ptr<ImageCodec> make_pnm_codec(const Limits& limits) {
  return std::make_unique<PnmCodec>(limits);
}

}  // namespace penstock
