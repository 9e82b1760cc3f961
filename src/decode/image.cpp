#include "decode/image.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

namespace penstock {
namespace {

bool starts_with(ConstBytes bytes, std::string_view magic, std::size_t at = 0) {
  return bytes.size() >= at + magic.size() && std::memcmp(bytes.data() + at, magic.data(), magic.size()) == 0;
}

}  // namespace

Status check_image_size(std::uint64_t width, std::uint64_t height, const Limits& limits) {
  if (width == 0 || height == 0) return fail(ErrorCode::kCorrupt, "image has no pixels");
  if (width > limits.image_side || height > limits.image_side || width * height > limits.image_pixels)
    return fail(ErrorCode::kTooLarge, fmt::format("image claims {}x{} pixels, at most {} in all are allowed",
                                                  width, height, limits.image_pixels));
  return {};
}

ImageDecoder::ImageDecoder(Limits limits) : limits_(limits) {}
ImageDecoder::~ImageDecoder() = default;
ImageDecoder::ImageDecoder(ImageDecoder&&) noexcept = default;

Result<ImageHeader> ImageDecoder::open(ConstBytes encoded) {
  using Maker = std::unique_ptr<ImageCodec> (*)(const Limits&);
  const auto use = [&](std::unique_ptr<ImageCodec>& codec, Maker make,
                       const char* name) -> Result<ImageHeader> {
    if (!codec) codec = make(limits_);
    if (!codec) return fail(ErrorCode::kUnsupported, fmt::format("this build cannot decode {}", name));
    current_ = codec.get();
    return codec->open(encoded);
  };
  if (encoded.empty()) return fail(ErrorCode::kTruncated, "empty file");
  if (starts_with(encoded, "\xFF\xD8")) return use(jpeg_, make_jpeg_codec, "JPEG");
  if (starts_with(encoded, "\x89PNG\r\n\x1A\n")) return use(png_, make_png_codec, "PNG");
  if (starts_with(encoded, "RIFF") && starts_with(encoded, "WEBP", 8))
    return use(webp_, make_webp_codec, "WebP");
  return fail(ErrorCode::kCorrupt, "not a JPEG, PNG or WebP image");
}

}  // namespace penstock
