#include "differential_image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = penstock::as_bytes(data, size);
  const penstock::ImageFormat* const format = penstock::image_format_of(bytes);
  if (format == nullptr || format->make != penstock::make_pnm_codec) return -1;
  penstock::check_image(penstock::make_pnm_codec, {}, bytes, penstock::fuzz_limits());
  return 0;
}
