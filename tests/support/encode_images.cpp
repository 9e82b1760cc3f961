#include "support/encode_images.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <jpeglib.h>
#include <png.h>

#ifdef PENSTOCK_WITH_WEBP
#include <webp/encode.h>
#endif

#include "base/random.h"

namespace penstock {
namespace {

std::vector<std::uint8_t> exif_block(int orientation, bool big_endian) {
  std::vector<std::uint8_t> block = {'E', 'x', 'i', 'f', 0, 0};
  const auto put16 = [&](unsigned v) {
    const auto high = static_cast<std::uint8_t>(v >> 8), low = static_cast<std::uint8_t>(v);
    block.push_back(big_endian ? high : low);
    block.push_back(big_endian ? low : high);
  };
  const auto put32 = [&](unsigned v) {
    put16(big_endian ? v >> 16 : v & 0xFFFF);
    put16(big_endian ? v & 0xFFFF : v >> 16);
  };
  block.insert(block.end(), 2, big_endian ? 'M' : 'I');
  put16(42);
  put32(8);
  put16(1);       // one entry
  put16(0x0112);  // orientation
  put16(3);       // of 16 bits
  put32(1);
  put16(static_cast<unsigned>(orientation));
  put16(0);
  put32(0);
  return block;
}

}  // namespace

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

Encoded encode_jpeg(const Picture& picture, const JpegOptions& options) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(picture.width);
  info.image_height = static_cast<JDIMENSION>(picture.height);
  info.input_components = picture.channels;
  info.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : picture.channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  if (picture.channels == 4) jpeg_set_colorspace(&info, options.ycck ? JCS_YCCK : JCS_CMYK);
  jpeg_set_quality(&info, options.quality, TRUE);
  if (picture.channels > 1) {
    for (int c = 0; c < info.num_components; ++c)
      info.comp_info[c].h_samp_factor = info.comp_info[c].v_samp_factor = 1;
    info.comp_info[0].h_samp_factor = options.horizontal;
    info.comp_info[0].v_samp_factor = options.vertical;
    if (picture.channels == 4) {
      info.comp_info[3].h_samp_factor = options.horizontal;
      info.comp_info[3].v_samp_factor = options.vertical;
    }
  }
  if (options.progressive) jpeg_simple_progression(&info);
  info.arith_code = options.arithmetic ? TRUE : FALSE;
  info.restart_in_rows = options.restart_rows;
  jpeg_start_compress(&info, TRUE);
  if (options.orientation != 0) {
    const auto block = exif_block(options.orientation, options.big_endian_exif);
    jpeg_write_marker(&info, JPEG_APP0 + 1, block.data(), static_cast<unsigned>(block.size()));
  }
  const std::size_t row_bytes =
      static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.channels);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPLE*>(picture.pixels.data() + info.next_scanline * row_bytes);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  Encoded out(size);
  std::memcpy(out.data(), memory, size);
  std::free(memory);
  return out;
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
