// PNG chunks carry checksums that mutation would break, so the mutator writes them anew.
#include <zlib.h>

#include <cstring>

#include "differential_image.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 == 0) return size;  // wrong checksums are worth a try, too
  const auto u32 = [&](std::size_t at) {
    return std::size_t{data[at]} << 24 | std::size_t{data[at + 1]} << 16 | std::size_t{data[at + 2]} << 8 |
           data[at + 3];
  };
  for (std::size_t at = 8; at + 12 <= size;) {
    const std::size_t length = u32(at);
    if (length > size - at - 12) break;
    const auto sum = static_cast<std::uint32_t>(crc32_z(0, data + at + 4, length + 4));
    for (int i = 0; i < 4; ++i)
      data[at + 8 + length + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(sum >> (24 - 8 * i));
    at += 12 + length;
  }
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 8 || std::memcmp(data, "\x89PNG\r\n\x1A\n", 8) != 0) return -1;
  penstock::check_image(penstock::make_png_codec, {}, penstock::as_bytes(data, size),
                        penstock::fuzz_limits());
  return 0;
}
