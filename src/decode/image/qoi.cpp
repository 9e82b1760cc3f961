// QOI, the "Quite OK Image" format (qoiformat.org): one pass over bytes that each describe one or more pixels.
//
// A pixel depends on all pixels before it, so decoding begins at the first pixel and stops at the end of the region.
#include <algorithm>
#include <array>
#include <cstring>

#include "decode/image/grey.h"
#include "decode/image/image_formats.h"
#include "decode/interrupted.h"

namespace penstock {
namespace {

constexpr std::size_t kHeaderBytes = 14;
constexpr std::array<std::uint8_t, 8> kEndMarker = {0, 0, 0, 0, 0, 0, 0, 1};
constexpr std::uint64_t kMaxRun = 62;  // pixels that one byte can describe

std::unexpected<Error> truncated_qoi() { return fail(ErrorCode::kTruncated, "truncated QOI"); }

struct Pixel {
  std::uint8_t red = 0, green = 0, blue = 0, alpha = 0;
};

// The pixels of an image, one after another.
class QoiPixels {
 public:
  explicit QoiPixels(ConstBytes encoded) : bytes_(encoded) { note(); }

  // Returns false where the bytes end.
  bool next() {
    if (run_ > 0) {
      --run_;
      return true;
    }
    if (at_ >= bytes_.size()) return false;
    const unsigned tag = byte(0);
    const std::size_t size = tag == 0xFF ? 5 : tag == 0xFE ? 4 : tag >> 6 == 2 ? 2 : 1;
    if (bytes_.size() - at_ < size) return false;
    if (tag >= 0xFE) {
      pixel_ = {byte(1), byte(2), byte(3), tag == 0xFF ? byte(4) : pixel_.alpha};
    } else if (tag >> 6 == 3) {
      run_ = tag & 63;  // this pixel, and so many more
    } else if (tag >> 6 == 2) {
      const unsigned green = (tag & 63) - 32, others = byte(1);
      add(green + (others >> 4) - 8, green, green + (others & 15) - 8);
    } else if (tag >> 6 == 1) {
      add((tag >> 4 & 3) - 2, (tag >> 2 & 3) - 2, (tag & 3) - 2);
    } else {
      pixel_ = seen_[tag];
    }
    at_ += size;
    note();
    return true;
  }

  const Pixel& pixel() const { return pixel_; }
  // Whether no pixel is left over from a run, and the end marker follows.
  Status check_end() const {
    if (bytes_.size() - at_ < kEndMarker.size()) return truncated_qoi();
    if (run_ > 0 || std::memcmp(bytes_.data() + at_, kEndMarker.data(), kEndMarker.size()) != 0)
      return fail(ErrorCode::kCorrupt, "bad QOI (no end marker after the last pixel)");
    return {};
  }

 private:
  std::uint8_t byte(std::size_t i) const { return std::to_integer<std::uint8_t>(bytes_[at_ + i]); }
  // Differences wrap around.
  void add(unsigned red, unsigned green, unsigned blue) {
    pixel_.red = static_cast<std::uint8_t>(pixel_.red + red);
    pixel_.green = static_cast<std::uint8_t>(pixel_.green + green);
    pixel_.blue = static_cast<std::uint8_t>(pixel_.blue + blue);
  }
  void note() {
    seen_[(pixel_.red * 3u + pixel_.green * 5u + pixel_.blue * 7u + pixel_.alpha * 11u) % seen_.size()] = pixel_;
  }

  ConstBytes bytes_;
  std::size_t at_ = kHeaderBytes;
  unsigned run_ = 0;
  Pixel pixel_{0, 0, 0, 0xFF};
  std::array<Pixel, 64> seen_{};
};

class QoiCodec final : public ImageCodec {
 public:
  explicit QoiCodec(const Limits& limits) : limits_(limits) {}

  Result<ImageHeader> open(ConstBytes encoded) override {
    encoded_ = encoded;
    if (encoded.size() < kHeaderBytes + kEndMarker.size()) return truncated_qoi();
    const auto number = [&](std::size_t at) {
      std::uint64_t value = 0;
      for (std::size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint64_t>(encoded[at + i]);
      return value;
    };
    const std::uint64_t width = number(4), height = number(8);
    PENSTOCK_CHECK(check_image_size(width, height, limits_));
    const auto channels = std::to_integer<unsigned>(encoded[12]), colour_space = std::to_integer<unsigned>(encoded[13]);
    if (channels != 3 && channels != 4) return fail(ErrorCode::kCorrupt, "bad QOI (neither 3 nor 4 channels)");
    if (colour_space > 1) return fail(ErrorCode::kCorrupt, "bad QOI (unknown colour space)");
    if ((encoded.size() - kHeaderBytes - kEndMarker.size()) * kMaxRun < width * height) return truncated_qoi();
    width_ = static_cast<int>(width);
    height_ = static_cast<int>(height);
    return ImageHeader{width_, height_, 1, 0};
  }

  std::size_t buffer_bytes(const DecodeRequest& request) const override {
    return static_cast<std::size_t>(request.region.width) * static_cast<std::size_t>(request.region.height) * 4;
  }

  Result<PixelView> decode(const DecodeRequest& request, MutableBytes buffer) override {
    if (request.format == PixelFormat::kIndex)
      return fail(ErrorCode::kUnsupported, "a mask must be grey or have a palette; QOI stores colours");
    if (buffer_bytes(request) > buffer.size()) return fail(ErrorCode::kNoMemory, "region larger than its buffer");
    const Rect& region = request.region;
    QoiPixels pixels(encoded_);
    std::byte* out = buffer.data();
    for (int y = 0; y < region.y + region.height; ++y) {
      PENSTOCK_CHECK(check_decoding_wanted());
      for (int x = 0; x < width_; ++x) {
        if (!pixels.next()) return truncated_qoi();
        if (y < region.y || x < region.x || x >= region.x + region.width) continue;
        const Pixel& pixel = pixels.pixel();
        const std::array<std::uint8_t, 4> rgbx = {pixel.red, pixel.green, pixel.blue, 0xFF};
        std::memcpy(out, rgbx.data(), rgbx.size());
        out += rgbx.size();
      }
    }
    if (region.y + region.height == height_) PENSTOCK_CHECK(pixels.check_end());
    const PixelView view{buffer.data(), region.width, region.height, region.width * std::ptrdiff_t{4}};
    return request.format == PixelFormat::kGrey ? grey_in_place(view, buffer.data()) : view;
  }

 private:
  Limits limits_;
  ConstBytes encoded_;
  int width_ = 0, height_ = 0;
};

}  // namespace

std::unique_ptr<ImageCodec> make_qoi_codec(const Limits& limits) { return std::make_unique<QoiCodec>(limits); }

}  // namespace penstock
