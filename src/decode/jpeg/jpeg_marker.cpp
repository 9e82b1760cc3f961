#include "decode/jpeg/jpeg_marker.h"

#include <cstring>

namespace penstock {

const std::uint8_t* find_jpeg_marker(const std::uint8_t* at, const std::uint8_t* end) {
  while (end - at >= 2) {
    at = static_cast<const std::uint8_t*>(std::memchr(at, 0xFF, static_cast<std::size_t>(end - at - 1)));
    if (at == nullptr) return end;
    if (at[1] != 0 && at[1] != 0xFF) return at;
    ++at;
  }
  return end;
}

}  // namespace penstock
