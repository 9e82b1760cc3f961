#include "decode/codec/byte_shuffle.h"

namespace penstock {
namespace {

// The width is a template argument, so that the compiler writes whole elements.
template <std::size_t width>
void interleave(const std::byte* shuffled, std::size_t count, std::byte* out) {
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t byte = 0; byte < width; ++byte) out[i * width + byte] = shuffled[byte * count + i];
}

}  // namespace

void undo_byte_shuffle(ConstBytes shuffled, std::size_t element_bytes, MutableBytes out) {
  const std::size_t count = shuffled.size() / element_bytes;
  switch (element_bytes) {
    case 2: return interleave<2>(shuffled.data(), count, out.data());
    case 4: return interleave<4>(shuffled.data(), count, out.data());
    case 8: return interleave<8>(shuffled.data(), count, out.data());
    default: break;
  }
  for (std::size_t byte = 0; byte < element_bytes; ++byte)
    for (std::size_t i = 0; i < count; ++i) out[i * element_bytes + byte] = shuffled[byte * count + i];
}

}  // namespace penstock
