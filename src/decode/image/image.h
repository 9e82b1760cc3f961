// Decodes images to pixels: one decoder per thread, and only the wanted region.
//
// The caller opens an image (header only), decides which region it needs, provides memory, and
// decodes. Decoding a region gives the same pixels as decoding all and cropping. Colour pixels
// are four bytes (R, G, B, unused), so that every later step works on one aligned vector per pixel.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/limits.h"
#include "penstock/result.h"

namespace penstock {

struct Rect {
  int x = 0, y = 0, width = 0, height = 0;
  bool operator==(const Rect&) const = default;
};

enum class PixelFormat : std::uint8_t {
  kRgbx,   // 4 bytes per pixel; alpha is dropped, palettes and grey are expanded
  kGrey,   // 1 byte per pixel, ITU-R 601 luma
  kIndex,  // 1 byte per pixel, the stored value or palette index: for masks
};

inline int bytes_per_pixel(PixelFormat format) { return format == PixelFormat::kRgbx ? 4 : 1; }

struct PixelView {
  const std::byte* data = nullptr;
  int width = 0, height = 0;
  std::ptrdiff_t row_stride = 0;  // in bytes
};

struct ImageHeader {
  int width = 0, height = 0;        // as stored, before EXIF orientation
  int orientation = 1;              // EXIF's 1-8
  std::uint64_t working_bytes = 0;  // memory that the codec allocates while it decodes
  // True if the orientation is part of the format (TIFF). Like Pillow, we then always apply it.
  bool always_oriented = false;

  int orientation_to_apply(bool obey_exif) const { return obey_exif || always_oriented ? orientation : 1; }
};

struct DecodeRequest {
  Rect region;  // in stored pixels
  PixelFormat format = PixelFormat::kRgbx;
  int scale_denominator = 1;  // 1, 2, 4 or 8: JPEG only, faster and only similar pixels
};

// Decodes the images of one format, one after another. Not thread-safe.
class ImageCodec {
 public:
  virtual ~ImageCodec() = default;
  // Borrows `encoded` until the next open().
  virtual Result<ImageHeader> open(ConstBytes encoded) = 0;
  // The memory that decode() needs for its result.
  virtual std::size_t buffer_bytes(const DecodeRequest& request) const = 0;
  // Returns the pixels of the region, somewhere inside `buffer`. With a scale, the region is divided by it
  // and rounded outwards.
  virtual Result<PixelView> decode(const DecodeRequest& request, MutableBytes buffer) = 0;
  // Whether decode() obeys scale_denominator.
  virtual bool can_scale() const { return false; }
};

// Chooses the codec by the first bytes, never by the file's name.
class ImageDecoder {
 public:
  explicit ImageDecoder(Limits limits = {});
  ~ImageDecoder();
  ImageDecoder(ImageDecoder&&) noexcept;

  Result<ImageHeader> open(ConstBytes encoded);
  bool can_scale() const { return current_->can_scale(); }
  std::size_t buffer_bytes(const DecodeRequest& request) const { return current_->buffer_bytes(request); }
  Result<PixelView> decode(const DecodeRequest& request, MutableBytes buffer) {
    return current_->decode(request, buffer);
  }

 private:
  Limits limits_;
  std::vector<std::unique_ptr<ImageCodec>> codecs_;  // by index in image_formats(); made on first use
  ImageCodec* current_ = nullptr;
};

// Fails unless both sides are at least 1 and within the limits. All codecs use this check.
Status check_image_size(std::uint64_t width, std::uint64_t height, const Limits& limits);

}  // namespace penstock
