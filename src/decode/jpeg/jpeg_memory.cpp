#include "decode/jpeg/jpeg_memory.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr std::uint64_t kBlockSide = 8;
constexpr std::uint64_t kBytesPerBlock = 2 * kBlockSide * kBlockSide;
constexpr std::uint64_t kRowAlignment = 64;
// Structures, Huffman and colour tables, lists of pointers to rows, and the overhead of malloc.
constexpr std::uint64_t kJpegFixedBytes = 64 << 10;
// Rows of pixels that libjpeg keeps per row of blocks, for upsampling: ten, or sixteen if the image is scaled
// down and a subsampled component is not.
constexpr std::uint64_t kKeptRows = 16;

std::uint64_t divided_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }
std::uint64_t rounded_up(std::uint64_t value, std::uint64_t to) { return divided_up(value, to) * to; }

}  // namespace

std::uint64_t jpeg_working_bytes(std::uint64_t width, std::uint64_t height,
                                 std::span<const JpegSampling> components, bool keeps_coefficients) {
  std::uint64_t widest = 1, tallest = 1;
  for (const JpegSampling& component : components) {
    widest = std::max(widest, static_cast<std::uint64_t>(component.horizontal));
    tallest = std::max(tallest, static_cast<std::uint64_t>(component.vertical));
  }
  std::uint64_t bytes = kJpegFixedBytes;
  for (const JpegSampling& component : components) {
    const auto across = static_cast<std::uint64_t>(component.horizontal);
    const auto down = static_cast<std::uint64_t>(component.vertical);
    const std::uint64_t block_columns = divided_up(width * across, widest * kBlockSide);
    const std::uint64_t block_rows = divided_up(height * down, tallest * kBlockSide);
    bytes += rounded_up(block_columns * kBlockSide, kRowAlignment) * down * kKeptRows;
    bytes += rounded_up(rounded_up(width, widest), kRowAlignment) * tallest;  // upsampled
    if (!keeps_coefficients) continue;
    const std::uint64_t rows = rounded_up(block_rows, down);
    bytes += rows * (rounded_up(block_columns, across) * kBytesPerBlock + sizeof(void*));
  }
  return bytes;
}

}  // namespace penstock
