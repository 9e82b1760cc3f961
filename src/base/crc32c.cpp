#include "base/crc32c.h"

#include <algorithm>
#include <array>
#include <climits>

#ifdef PENSTOCK_WITH_ISAL
#include <isa-l/crc.h>
#endif

namespace penstock {

#ifdef PENSTOCK_WITH_ISAL

std::uint32_t crc32c(ConstBytes bytes, std::uint32_t before) {
  std::uint32_t sum = ~before;
  while (!bytes.empty()) {  // ISA-L counts in int
    const std::size_t step = std::min<std::size_t>(bytes.size(), INT_MAX);
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
    sum = crc32_iscsi(data, static_cast<int>(step), sum);
    bytes = bytes.subspan(step);
  }
  return ~sum;
}

#else

namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0x82F63B78u : 0u);
    table[i] = value;
  }
  return table;
}

constexpr auto kTable = make_table();

}  // namespace

std::uint32_t crc32c(ConstBytes bytes, std::uint32_t before) {
  std::uint32_t sum = ~before;
  for (std::byte b : bytes) sum = (sum >> 8) ^ kTable[(sum ^ static_cast<std::uint32_t>(b)) & 0xFF];
  return ~sum;
}

#endif

}  // namespace penstock
