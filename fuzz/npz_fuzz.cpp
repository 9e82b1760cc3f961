#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "decode/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const ConstBytes file = as_bytes(data, size);
  const Limits limits{.encoded_bytes = 1 << 20};
  const auto members = list_npz(file, limits);
  if (!members) return 0;
  std::size_t stored = 0;
  for (const NpzMember& member : *members) {
    stored += member.stored.size();
    if (member.size_bytes > limits.encoded_bytes || stored > size) {
      std::fprintf(stderr, "broken promise: sizes within limits and file\n");
      std::abort();
    }
    std::vector<std::byte> out(member.size_bytes);
    (void)unpack_npz(member, out);
    // The checksum is rarely right by chance: what a wrong one hides is tried here.
    NpzMember deflated = member;
    deflated.deflated = !member.deflated && member.size_bytes / 1032 <= member.stored.size();
    (void)unpack_npz(deflated, out);
  }
  return 0;
}
