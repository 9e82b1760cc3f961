// Text as the bytes of a file.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace penstock {

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

}  // namespace penstock
