// Spans of raw bytes. They borrow the memory that they show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

using ConstBytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline ConstBytes as_bytes(const void* data, std::size_t size) {
  return {static_cast<const std::byte*>(data), size};
}

}  // namespace penstock
