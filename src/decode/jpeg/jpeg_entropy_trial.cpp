// Compares our Huffman decoder with libjpeg's own, because it is installed through a private structure of libjpeg.
#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <vector>

#include "decode/jpeg/jpeg_entropy.h"

namespace penstock {
namespace {

struct TrialErrors {
  jpeg_error_mgr base;
  std::jmp_buf escape;
};

[[noreturn]] void leave_trial(j_common_ptr info) {
  std::longjmp(reinterpret_cast<TrialErrors*>(info->err)->escape, 1);
}

constexpr unsigned kTrialSide = 40;
constexpr std::size_t kTrialBytes = std::size_t{3} * kTrialSide * kTrialSide;

// No object with a destructor may live in a function that setjmp can return to.
bool encode_trial(unsigned char* pixels, unsigned char** out, unsigned long* size) {
  jpeg_compress_struct info{};
  TrialErrors errors{};
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = leave_trial;
  if (setjmp(errors.escape) != 0) {
    jpeg_destroy_compress(&info);
    return false;
  }
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, out, size);
  info.image_width = info.image_height = kTrialSide;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  info.restart_interval = 2;
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < kTrialSide) {
    JSAMPROW row = pixels + std::size_t{3} * kTrialSide * info.next_scanline;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  return true;
}

bool decode_trial(const unsigned char* data, unsigned long size, JpegEntropyDecoder* decoder,
                  unsigned char* pixels) {
  jpeg_decompress_struct info{};
  TrialErrors errors{};
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = leave_trial;
  errors.base.emit_message = [](j_common_ptr common, int level) {
    if (level < 0) leave_trial(common);
  };
  if (setjmp(errors.escape) != 0) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, data, size);
  jpeg_read_header(&info, TRUE);
  jpeg_start_decompress(&info);
  if (decoder != nullptr && !decoder->attach(info)) longjmp(errors.escape, 1);
  while (info.output_scanline < kTrialSide) {
    JSAMPROW row = pixels + std::size_t{3} * kTrialSide * info.output_scanline;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_abort_decompress(&info);
  jpeg_destroy_decompress(&info);
  return true;
}

bool run_trial() {
  std::vector<unsigned char> pixels(kTrialBytes), by_library(kTrialBytes), by_us(kTrialBytes);
  std::uint32_t state = 1;
  for (unsigned char& value : pixels)
    value = static_cast<unsigned char>((state = state * 1664525u + 1013904223u) >> 24);
  unsigned char* encoded = nullptr;
  unsigned long size = 0;
  const auto decoder = std::make_unique<JpegEntropyDecoder>();
  const bool same = encode_trial(pixels.data(), &encoded, &size) &&
                    decode_trial(encoded, size, nullptr, by_library.data()) &&
                    decode_trial(encoded, size, decoder.get(), by_us.data()) && by_library == by_us;
  std::free(encoded);
  return same;
}

}  // namespace

bool jpeg_entropy_decoder_fits() {
  static const bool fits = run_trial();
  return fits;
}

}  // namespace penstock
