// A fast hash of text for fingerprints. It is the same on every machine and not safe against adversaries.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/random.h"

namespace penstock {

inline std::uint64_t hash_text(std::string_view text, std::uint64_t hash) {
  while (text.size() >= 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data(), 8);
    hash = mix64(hash ^ word);
    text.remove_prefix(8);
  }
  // The last bytes, with their number in the top byte.
  std::uint64_t rest = std::uint64_t{text.size()} << 56;
  if (!text.empty()) std::memcpy(&rest, text.data(), text.size());
  return mix64(hash ^ rest ^ std::uint64_t{text.size()} << 56);
}

}  // namespace penstock
