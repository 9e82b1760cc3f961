#include "decode/image/image.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <vector>

#include "decode/interrupted.h"

namespace penstock {
namespace {

struct FormatRow {
  const char* name;
  std::unique_ptr<ImageCodec> (*make)(const Limits&);
  std::vector<std::string_view> endings;
};

// In the order of ImageFormat.
const std::array<FormatRow, kImageFormats>& formats() {
  static const std::array<FormatRow, kImageFormats> rows = {{
      {"JPEG", make_jpeg_codec, {"jpg", "jpeg"}},
      {"PNG", make_png_codec, {"png"}},
      {"WebP", make_webp_codec, {"webp"}},
      {"TIFF", make_tiff_codec, {"tif", "tiff"}},
      {"BMP", make_bmp_codec, {"bmp"}},
      {"GIF", make_gif_codec, {"gif"}},
      {"PNM", make_pnm_codec, {"ppm", "pgm", "pbm", "pnm"}},
  }};
  return rows;
}

bool starts_with(ConstBytes bytes, std::string_view magic, std::size_t at = 0) {
  return bytes.size() >= at + magic.size() && std::memcmp(bytes.data() + at, magic.data(), magic.size()) == 0;
}

// "P6", white space, then a number or a comment: two letters alone could begin any text.
bool starts_like_pnm(ConstBytes bytes) {
  if (bytes.size() < 4 || bytes[0] != std::byte{'P'}) return false;
  const auto letter = [&](std::size_t at) { return std::to_integer<unsigned char>(bytes[at]); };
  if (letter(1) < '1' || letter(1) > '6' || std::isspace(letter(2)) == 0) return false;
  return std::isdigit(letter(3)) != 0 || std::isspace(letter(3)) != 0 || letter(3) == '#';
}

}  // namespace

std::optional<ImageFormat> image_format_of(ConstBytes encoded) {
  using namespace std::string_view_literals;
  if (starts_with(encoded, "\xFF\xD8"sv)) return ImageFormat::kJpeg;
  if (starts_with(encoded, "\x89PNG\r\n\x1A\n"sv)) return ImageFormat::kPng;
  if (starts_with(encoded, "RIFF"sv) && starts_with(encoded, "WEBP"sv, 8)) return ImageFormat::kWebp;
  for (const std::string_view magic : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv})
    if (starts_with(encoded, magic)) return ImageFormat::kTiff;
  // The second header of a BMP begins with its length, which is below 256.
  if (starts_with(encoded, "BM"sv) && starts_with(encoded, "\0\0\0"sv, 15)) return ImageFormat::kBmp;
  if (starts_with(encoded, "GIF87a"sv) || starts_with(encoded, "GIF89a"sv)) return ImageFormat::kGif;
  if (starts_like_pnm(encoded)) return ImageFormat::kPnm;
  return std::nullopt;
}

bool is_image_ending(std::string_view ending) {
  return std::ranges::any_of(formats(), [&](const FormatRow& row) {
    return std::ranges::find(row.endings, ending) != row.endings.end();
  });
}

std::string image_endings() {
  std::vector<std::string_view> all;
  for (const FormatRow& row : formats()) all.insert(all.end(), row.endings.begin(), row.endings.end());
  return fmt::format("{}", fmt::join(all, ", "));
}

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
  const auto format = image_format_of(encoded);
  if (!format) {
    std::vector<std::string_view> names;
    for (const FormatRow& row : formats()) names.emplace_back(row.name);
    return fail(ErrorCode::kCorrupt, fmt::format("not an image that is read ({})", fmt::join(names, ", ")));
  }
  const auto number = static_cast<std::size_t>(*format);
  if (!codecs_[number]) codecs_[number] = formats()[number].make(limits_);
  if (!codecs_[number])
    return fail(ErrorCode::kUnsupported, fmt::format("this build cannot decode {}", formats()[number].name));
  current_ = codecs_[number].get();
  return current_->open(encoded);
}

}  // namespace penstock
