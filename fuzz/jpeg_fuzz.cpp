#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

#include "differential_image.h"

namespace {

// A small picture to decode before each input.
std::vector<std::byte> other_picture() {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = info.image_height = 16;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_start_compress(&info, TRUE);
  std::vector<JSAMPLE> row(16 * 3, 99);
  JSAMPROW rows[1] = {row.data()};
  while (info.next_scanline < info.image_height) jpeg_write_scanlines(&info, rows, 1);
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* raw = reinterpret_cast<const std::byte*>(memory);
  std::vector<std::byte> out(raw, raw + size);
  std::free(memory);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || data[0] != 0xFF || data[1] != 0xD8) return -1;
  static const std::vector<std::byte> other = other_picture();
  penstock::check_image(penstock::make_jpeg_codec, other, penstock::as_bytes(data, size),
                        penstock::fuzz_limits());
  return 0;
}
