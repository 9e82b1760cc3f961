#include "decode/image/image.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "decode/image/image_formats.h"
#include "decode/interrupted.h"

namespace penstock {
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
  PENSTOCK_CHECK(check_decoding_wanted());
  if (encoded.empty()) return fail(ErrorCode::kTruncated, "empty file");
  const ImageFormat* const format = image_format_of(encoded);
  if (format == nullptr) {
    std::vector<std::string_view> names;
    for (const ImageFormat& known : image_formats()) names.push_back(known.name);
    return fail(ErrorCode::kCorrupt, fmt::format("not an image that is read ({})", fmt::join(names, ", ")));
  }
  codecs_.resize(image_formats().size());
  const auto number = static_cast<std::size_t>(format - image_formats().data());
  if (!codecs_[number]) codecs_[number] = format->make(limits_);
  if (!codecs_[number])
    return fail(ErrorCode::kUnsupported, fmt::format("this build cannot decode {}", format->name));
  current_ = codecs_[number].get();
  return current_->open(encoded);
}

}  // namespace penstock
