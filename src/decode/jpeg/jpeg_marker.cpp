#include "decode/jpeg/jpeg_marker.h"

#include <cstddef>
#include <cstring>

namespace penstock {
namespace {

// Data have an FF in every 256 bytes or so, which is almost always stuffed. Looking for pairs block by block is three
// times as fast as stopping at each.
constexpr std::ptrdiff_t kMarkerSearchBlock = 128;

// Compilers make vector instructions of the inner loop. It reads the byte behind the block, too.
[[gnu::always_inline]] inline const std::uint8_t* skip_blocks(const std::uint8_t* at, const std::uint8_t* end) {
  for (; end - at > kMarkerSearchBlock; at += kMarkerSearchBlock) {
    std::uint8_t found = 0;
    for (std::ptrdiff_t i = 0; i < kMarkerSearchBlock; ++i) {
      const auto begins = static_cast<std::uint8_t>(at[i] == 0xFF);
      const auto is_data = static_cast<std::uint8_t>((at[i + 1] == 0) | (at[i + 1] == 0xFF));
      found = static_cast<std::uint8_t>(found | (begins & ~is_data));
    }
    if (found != 0) break;
  }
  return at;
}

const std::uint8_t* skip_blocks_anywhere(const std::uint8_t* at, const std::uint8_t* end) {
  return skip_blocks(at, end);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] const std::uint8_t* skip_blocks_with_avx2(const std::uint8_t* at,
                                                                  const std::uint8_t* end) {
  return skip_blocks(at, end);
}
#endif

}  // namespace

const std::uint8_t* find_jpeg_marker(const std::uint8_t* at, const std::uint8_t* end) {
#if defined(__x86_64__)
  at = __builtin_cpu_supports("avx2") ? skip_blocks_with_avx2(at, end) : skip_blocks_anywhere(at, end);
#else
  at = skip_blocks_anywhere(at, end);
#endif
  for (; end - at >= 2; ++at) {
    const auto* const found =
        static_cast<const std::uint8_t*>(std::memchr(at, 0xFF, static_cast<std::size_t>(end - at - 1)));
    if (found == nullptr) break;
    at = found;
    if (at[1] != 0 && at[1] != 0xFF) return at;
  }
  return end;
}

}  // namespace penstock
