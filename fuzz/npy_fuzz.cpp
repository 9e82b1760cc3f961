#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "decode/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const auto header = parse_npy_header(as_bytes(data, size), Limits{});
  if (!header) return 0;
  bool sane = header->data_offset <= size && header->array.shape.size() <= Limits{}.npy_dimensions;
  bool empty = false;
  unsigned __int128 bytes = size_of(header->array.dtype);
  for (const auto extent : header->array.shape) {
    sane = sane && extent >= 0;
    empty = empty || extent == 0;
    if (!empty) bytes *= static_cast<std::uint64_t>(extent);
  }
  if (!empty) sane = sane && bytes == header->data_bytes();
  if (!sane) {
    std::fprintf(stderr, "broken promise: a sane header\n");
    std::abort();
  }
  (void)check_npy_size(*header, size);
  return 0;
}
