#include "support/encode_images.h"

#include <cstring>

#include <png.h>

#ifdef PENSTOCK_WITH_WEBP
#include <webp/encode.h>
#endif

#include "base/random.h"

namespace penstock {
Picture make_picture(int width, int height, int channels, std::uint64_t seed) {
  Picture picture{width, height, channels, {}};
  Draws draws(seed, 0, 0);
  const double fx = draws.uniform(1, 8), fy = draws.uniform(1, 8);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c) {
        double value = 128 + 60 * ((x * fx + c * 40) / width - 0.5) - 50 * (y * fy / height - 0.5);
        if ((x / 9 + y / 7) % 3 == c % 3) value += 70;
        value += draws.uniform(-12, 12);
        picture.pixels.push_back(static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value));
      }
  return picture;
}

Encoded encode_png(const Picture& picture, const PngOptions& options) {
  Encoded out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &out,
      [](png_structp p, png_bytep data, png_size_t size) {
        auto* to = static_cast<Encoded*>(png_get_io_ptr(p));
        const auto* raw = reinterpret_cast<const std::byte*>(data);
        to->insert(to->end(), raw, raw + size);
      },
      [](png_structp) {});
  static constexpr int kTypes[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                   PNG_COLOR_TYPE_RGB_ALPHA};
  const int type = options.palette ? PNG_COLOR_TYPE_PALETTE : kTypes[picture.channels];
  png_set_IHDR(png, info, static_cast<png_uint_32>(picture.width), static_cast<png_uint_32>(picture.height),
               options.bit_depth, type, options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (options.palette) {
    std::vector<png_color> colours(std::size_t{1} << options.bit_depth);
    for (std::size_t i = 0; i < colours.size(); ++i)
      colours[i] = {static_cast<png_byte>(i), static_cast<png_byte>(255 - i), static_cast<png_byte>(7 * i)};
    png_set_PLTE(png, info, colours.data(), static_cast<int>(colours.size()));
  }
  if (options.idat_bytes > 0)
    png_set_compression_buffer_size(png, static_cast<png_size_t>(options.idat_bytes));
  png_write_info(png, info);
  if (options.bit_depth < 8) png_set_packing(png);
  const int passes = png_set_interlace_handling(png);
  std::vector<std::uint8_t> row;
  const std::size_t items =
      static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.channels);
  for (int pass = 0; pass < passes; ++pass)
    for (int y = 0; y < picture.height; ++y) {
      const std::uint8_t* from = picture.pixels.data() + static_cast<std::size_t>(y) * items;
      row.clear();
      for (std::size_t i = 0; i < items; ++i) {
        row.push_back(from[i]);
        if (options.bit_depth == 16) row.push_back(static_cast<std::uint8_t>(255 - from[i]));
      }
      png_write_row(png, row.data());
    }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return out;
}

Encoded encode_webp([[maybe_unused]] const Picture& picture, [[maybe_unused]] bool lossless) {
  Encoded out;
#ifdef PENSTOCK_WITH_WEBP
  std::uint8_t* memory = nullptr;
  const int stride = picture.width * picture.channels;
  const auto* pixels = picture.pixels.data();
  std::size_t size = 0;
  if (picture.channels == 4)
    size = lossless ? WebPEncodeLosslessRGBA(pixels, picture.width, picture.height, stride, &memory)
                    : WebPEncodeRGBA(pixels, picture.width, picture.height, stride, 80, &memory);
  else
    size = lossless ? WebPEncodeLosslessRGB(pixels, picture.width, picture.height, stride, &memory)
                    : WebPEncodeRGB(pixels, picture.width, picture.height, stride, 80, &memory);
  out.resize(size);
  if (size > 0) std::memcpy(out.data(), memory, size);
  WebPFree(memory);
#endif
  return out;
}

}  // namespace penstock
