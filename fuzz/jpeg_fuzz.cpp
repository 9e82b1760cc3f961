#include "differential_image.h"
#include "support/encode_jpeg.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || data[0] != 0xFF || data[1] != 0xD8) return -1;
  // A small picture to decode before each input.
  static const penstock::Encoded other = penstock::encode_jpeg(penstock::flat_picture(16, 16, 3, 99), {.quality = 75});
  penstock::check_image(penstock::make_jpeg_codec, other, penstock::as_bytes(data, size),
                        penstock::fuzz_limits());
  return 0;
}
