#include "support/encode_jpeg.h"

#include <csetjmp>
#include <cstdlib>

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

void set_sampling(jpeg_compress_struct& info, const JpegOptions& options) {
  if (!options.sampling.empty()) {
    for (int c = 0; c < info.num_components; ++c) {
      info.comp_info[c].h_samp_factor = options.sampling[static_cast<std::size_t>(c)][0];
      info.comp_info[c].v_samp_factor = options.sampling[static_cast<std::size_t>(c)][1];
    }
    return;
  }
  if (info.num_components == 1) return;
  for (int c = 0; c < info.num_components; ++c) {
    const bool is_whole = c == 0 || c == 3;  // brightness, and black
    info.comp_info[c].h_samp_factor = is_whole ? options.horizontal : 1;
    info.comp_info[c].v_samp_factor = is_whole ? options.vertical : 1;
  }
}

std::vector<jpeg_scan_info> narrow_scans(int scans) {
  std::vector<jpeg_scan_info> script{{1, {0, 0, 0, 0}, 0, 0, 0, 0}};
  for (int bit = 10; static_cast<int>(script.size()) < scans; --bit)
    for (int k = 1; k < 64 && static_cast<int>(script.size()) < scans; ++k)
      script.push_back({1, {0, 0, 0, 0}, k, k, bit == 10 ? 0 : bit + 1, bit});
  return script;
}

struct Errors {
  jpeg_error_mgr base;
  std::jmp_buf escape;
};

[[noreturn]] void leave(j_common_ptr info) { std::longjmp(reinterpret_cast<Errors*>(info->err)->escape, 1); }

void leave_on_warning(j_common_ptr info, int level) {
  if (level < 0) leave(info);
}

// Nothing with a destructor lives here: libjpeg jumps out of it.
bool decode(const Encoded& encoded, const LibjpegOptions& options, std::vector<std::uint8_t>* pixels,
            std::vector<std::uint8_t>& row) {
  jpeg_decompress_struct info{};
  Errors errors{};
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = leave;
  errors.base.emit_message = leave_on_warning;
  if (setjmp(errors.escape) != 0) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(encoded.data()), encoded.size());
  jpeg_read_header(&info, TRUE);
  const bool is_ink = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  if (options.four_bytes_per_pixel) info.out_color_space = is_ink ? JCS_CMYK : JCS_EXT_RGBX;
  jpeg_start_decompress(&info);
  if (options.when_started) options.when_started(info);
  row.resize(std::size_t{info.output_width} * static_cast<std::size_t>(info.output_components));
  if (pixels != nullptr) pixels->assign(row.size() * info.output_height, 0);
  if (options.skip_rows > 0) jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(options.skip_rows));
  while (info.output_scanline < info.output_height) {
    JSAMPROW to = pixels == nullptr ? row.data() : pixels->data() + row.size() * info.output_scanline;
    jpeg_read_scanlines(&info, &to, 1);
  }
  if (options.reads_end_marker)
    jpeg_finish_decompress(&info);
  else
    jpeg_abort_decompress(&info);
  jpeg_destroy_decompress(&info);
  return true;
}

}  // namespace

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
  set_sampling(info, options);
  std::vector<jpeg_scan_info> script;
  if (options.scans > 0) {
    script = narrow_scans(options.scans);
    info.scan_info = script.data();
    info.num_scans = static_cast<int>(script.size());
  } else if (options.progressive) {
    jpeg_simple_progression(&info);
  }
  info.arith_code = options.arithmetic ? TRUE : FALSE;
  info.restart_in_rows = options.restart_rows;
  info.restart_interval = static_cast<unsigned>(options.restart_mcus);
  if (options.optimised_tables) info.optimize_coding = TRUE;
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
  const auto* bytes = reinterpret_cast<const std::byte*>(memory);
  Encoded out(bytes, bytes + size);
  std::free(memory);
  return out;
}

bool decode_by_libjpeg(const Encoded& encoded, const LibjpegOptions& options, std::vector<std::uint8_t>* pixels) {
  std::vector<std::uint8_t> row;
  return decode(encoded, options, pixels, row);
}

}  // namespace penstock
