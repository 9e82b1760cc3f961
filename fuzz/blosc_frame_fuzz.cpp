#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "decode/codec/blosc.h"

namespace {

using namespace penstock;

constexpr std::size_t kMaxDecoded = 1 << 20;

void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

void decode(const std::vector<std::byte>& bytes) {
  const auto frame = BloscFrame::open(bytes);
  if (!frame || frame->decoded_bytes() > kMaxDecoded) return;
  promise(frame->item_bytes() > 0, "items have bytes");
  std::vector<std::byte> out(frame->decoded_bytes(), std::byte{0xA5}), again(out.size(), std::byte{0x5A});
  const bool decoded = frame->decode(out).has_value();
  promise(frame->decode(again).has_value() == decoded, "the same answer twice");
  promise(!decoded || out == again, "the same elements twice");
  const std::size_t items = out.size() / frame->item_bytes();
  for (const std::size_t first :
       {std::size_t{0}, items / 2, items - std::min<std::size_t>(items, 1), items}) {
    std::vector<std::byte> part(std::min<std::size_t>(items - first, 3) * frame->item_bytes());
    const bool has_part = frame->decode_items(first, part).has_value();
    promise(has_part || !decoded, "items of what can be decoded");
    const auto at = out.begin() + static_cast<std::ptrdiff_t>(first * frame->item_bytes());
    promise(!decoded || std::equal(part.begin(), part.end(), at), "items are a slice");
  }
  std::vector<std::byte> one(frame->item_bytes());
  promise(!frame->decode_items(items, one), "no items behind the last");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ConstBytes input = as_bytes(data, size);
  std::vector<std::byte> bytes(input.begin(), input.end());
  decode(bytes);
  if (size < 16) return 0;
  // What few inputs get right by chance: the length of the frame, and a size that is worth decoding.
  const auto length = static_cast<std::uint32_t>(size);
  std::memcpy(bytes.data() + 12, &length, sizeof(length));
  bytes[0] = std::byte{2};
  bytes[6] &= std::byte{0x0F};
  bytes[7] = std::byte{0};
  decode(bytes);
  return 0;
}
