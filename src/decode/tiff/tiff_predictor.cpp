#include "decode/tiff/tiff_predictor.h"

#include <bit>
#include <cstring>

namespace penstock {
namespace {

template <typename T>
T load_sample(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void undo_row(std::byte* row, std::size_t count, std::size_t samples, bool swap) {
  const auto stored = [&](std::size_t i) {
    const T value = load_sample<T>(row + i * sizeof(T));
    return swap ? std::byteswap(value) : value;
  };
  if (samples == 1) {
    T sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      sum = static_cast<T>(sum + stored(i));
      std::memcpy(row + i * sizeof(T), &sum, sizeof(T));
    }
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    T value = stored(i);
    if (i >= samples) value = static_cast<T>(value + load_sample<T>(row + (i - samples) * sizeof(T)));
    std::memcpy(row + i * sizeof(T), &value, sizeof(T));
  }
}

template <typename T>
void undo_rows(MutableBytes rows, std::size_t row_bytes, std::size_t samples, bool swap) {
  for (std::size_t at = 0; at < rows.size(); at += row_bytes)
    undo_row<T>(rows.data() + at, row_bytes / sizeof(T), samples, swap);
}

static_assert(std::endian::native == std::endian::little);

}  // namespace

void undo_tiff_differences(MutableBytes rows, std::size_t row_bytes, std::size_t element_bytes,
                           std::size_t samples, bool big_endian) {
  switch (element_bytes) {
    case 1: return undo_rows<std::uint8_t>(rows, row_bytes, samples, false);
    case 2: return undo_rows<std::uint16_t>(rows, row_bytes, samples, big_endian);
    case 4: return undo_rows<std::uint32_t>(rows, row_bytes, samples, big_endian);
    default: return undo_rows<std::uint64_t>(rows, row_bytes, samples, big_endian);
  }
}

void undo_tiff_float_differences(MutableBytes rows, std::size_t row_bytes, std::size_t element_bytes,
                                 std::size_t samples, MutableBytes spare) {
  const std::size_t count = row_bytes / element_bytes;
  for (std::size_t at = 0; at < rows.size(); at += row_bytes) {
    std::byte* row = rows.data() + at;
    std::memcpy(spare.data(), row, row_bytes);
    undo_row<std::uint8_t>(spare.data(), row_bytes, samples, false);
    // The most significant bytes of all elements come first.
    for (std::size_t byte = 0; byte < element_bytes; ++byte) {
      const std::byte* plane = spare.data() + (element_bytes - 1 - byte) * count;
      for (std::size_t i = 0; i < count; ++i) row[i * element_bytes + byte] = plane[i];
    }
  }
}

}  // namespace penstock
