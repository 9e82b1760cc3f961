#include "decode/image/image_formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

namespace penstock {
namespace {

using namespace std::string_view_literals;

bool has_at(ConstBytes bytes, std::size_t at, std::string_view magic) {
  return bytes.size() >= at + magic.size() && std::memcmp(bytes.data() + at, magic.data(), magic.size()) == 0;
}

bool is_jpeg(ConstBytes bytes) { return has_at(bytes, 0, "\xFF\xD8"sv); }
bool is_png(ConstBytes bytes) { return has_at(bytes, 0, "\x89PNG\r\n\x1A\n"sv); }
bool is_webp(ConstBytes bytes) { return has_at(bytes, 0, "RIFF"sv) && has_at(bytes, 8, "WEBP"sv); }
bool is_gif(ConstBytes bytes) { return has_at(bytes, 0, "GIF87a"sv) || has_at(bytes, 0, "GIF89a"sv); }
bool is_qoi(ConstBytes bytes) { return has_at(bytes, 0, "qoif"sv); }

bool is_tiff(ConstBytes bytes) {
  return std::ranges::any_of(std::array{"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv},
                             [&](std::string_view magic) { return has_at(bytes, 0, magic); });
}

// The second header of a BMP begins with its length, which is below 256.
bool is_bmp(ConstBytes bytes) { return has_at(bytes, 0, "BM"sv) && has_at(bytes, 15, "\0\0\0"sv); }

// "P6", white space, then a number or a comment: two letters alone could begin any text.
bool is_pnm(ConstBytes bytes) {
  if (bytes.size() < 4 || bytes[0] != std::byte{'P'}) return false;
  const auto letter = [&](std::size_t at) { return std::to_integer<unsigned char>(bytes[at]); };
  if (letter(1) < '1' || letter(1) > '6' || std::isspace(letter(2)) == 0) return false;
  return std::isdigit(letter(3)) != 0 || std::isspace(letter(3)) != 0 || letter(3) == '#';
}

}  // namespace

std::span<const ImageFormat> image_formats() {
  static const std::vector<ImageFormat> formats = {
      {"JPEG", {"jpg", "jpeg"}, is_jpeg, make_jpeg_codec},
      {"PNG", {"png"}, is_png, make_png_codec},
      {"WebP", {"webp"}, is_webp, make_webp_codec},
      {"TIFF", {"tif", "tiff"}, is_tiff, make_tiff_codec},
      {"BMP", {"bmp"}, is_bmp, make_bmp_codec},
      {"GIF", {"gif"}, is_gif, make_gif_codec},
      {"PNM", {"ppm", "pgm", "pbm", "pnm"}, is_pnm, make_pnm_codec},
      {"QOI", {"qoi"}, is_qoi, make_qoi_codec},
  };
  return formats;
}

const ImageFormat* image_format_of(ConstBytes encoded) {
  for (const ImageFormat& format : image_formats())
    if (format.matches(encoded)) return &format;
  return nullptr;
}

bool is_image_ending(std::string_view ending) {
  return std::ranges::any_of(image_formats(), [&](const ImageFormat& format) {
    return std::ranges::find(format.endings, ending) != format.endings.end();
  });
}

std::string image_endings() {
  std::vector<std::string_view> all;
  for (const ImageFormat& format : image_formats())
    all.insert(all.end(), format.endings.begin(), format.endings.end());
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace penstock
