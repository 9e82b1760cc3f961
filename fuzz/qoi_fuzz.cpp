#include "differential_image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  penstock::check_image(penstock::make_qoi_codec, {}, penstock::as_bytes(data, size), penstock::fuzz_limits());
  return 0;
}
