// The image formats that are read. A new format is one new file with a codec and one row of the table.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/image/image.h"

namespace penstock {

struct ImageFormat {
  std::string_view name;                  // "JPEG"
  std::vector<std::string_view> endings;  // of file names: "jpg", in lower case, without the dot
  bool (*matches)(ConstBytes encoded);    // whether the first bytes are those of this format
  // Returns nullptr where the codec was left out of the build.
  std::unique_ptr<ImageCodec> (*make)(const Limits&);
};

// All formats, in the order in which their first bytes are compared.
std::span<const ImageFormat> image_formats();

// Recognises the format by the first bytes; nullptr if none matches.
const ImageFormat* image_format_of(ConstBytes encoded);

// Returns whether a file with this ending ("jpg", in lower case, without the dot) holds an image.
bool is_image_ending(std::string_view ending);
// The endings, for messages: "jpg, jpeg, png, ...".
std::string image_endings();

std::unique_ptr<ImageCodec> make_jpeg_codec(const Limits& limits);
std::unique_ptr<ImageCodec> make_png_codec(const Limits& limits);
std::unique_ptr<ImageCodec> make_webp_codec(const Limits& limits);
std::unique_ptr<ImageCodec> make_tiff_codec(const Limits& limits);
std::unique_ptr<ImageCodec> make_bmp_codec(const Limits& limits);
std::unique_ptr<ImageCodec> make_gif_codec(const Limits& limits);
std::unique_ptr<ImageCodec> make_pnm_codec(const Limits& limits);
std::unique_ptr<ImageCodec> make_qoi_codec(const Limits& limits);

}  // namespace penstock
