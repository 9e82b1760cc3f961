#include "source/mds/pillow_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/byte_reader.h"
#include "base/limits.h"

namespace penstock {
namespace {

constexpr std::uint32_t kMaxModeBytes = 16;
constexpr std::size_t kQoiHeaderBytes = 14, kQoiPixelBytes = 5;
constexpr std::byte kQoiWholePixel{0xFF};
constexpr std::array<std::byte, 8> kQoiEnd = {{{}, {}, {}, {}, {}, {}, {}, std::byte{1}}};

struct PillowImage {
  std::uint32_t width = 0, height = 0;
  ConstBytes pixels;
};

Result<ConstBytes> as_pnm(char kind, bool inverts, const PillowImage& image, const Source::Allocate& allocate) {
  const std::string header =
      fmt::format("P{}\n{} {}\n{}", kind, image.width, image.height, kind == '4' ? "" : "255\n");
  const auto file = allocate(header.size() + image.pixels.size());
  if (!file) return std::unexpected(file.error());
  std::memcpy(file->data(), header.data(), header.size());
  const std::span<std::byte> pixels = file->subspan(header.size());
  if (inverts)
    std::ranges::transform(image.pixels, pixels.begin(), [](std::byte eight) { return ~eight; });
  else
    std::ranges::copy(image.pixels, pixels.begin());
  return *file;
}

// PNM has no transparency. QOI has a form in which each pixel is written as it is.
Result<ConstBytes> as_qoi(const PillowImage& image, const Source::Allocate& allocate) {
  const std::size_t count = image.pixels.size() / 4;
  const auto file = allocate(kQoiHeaderBytes + count * kQoiPixelBytes + kQoiEnd.size());
  if (!file) return std::unexpected(file.error());
  std::byte* at = file->data();
  const auto put = [&](std::uint32_t value, int bytes) {
    while (bytes-- > 0) *at++ = static_cast<std::byte>(value >> (8 * bytes) & 0xFF);
  };
  put(0x716F6966, 4);  // "qoif"
  put(image.width, 4);
  put(image.height, 4);
  put(4, 1);  // channels
  put(0, 1);  // sRGB, with linear transparency
  for (std::size_t i = 0; i < count; ++i) {
    *at++ = kQoiWholePixel;
    at = std::copy_n(image.pixels.begin() + static_cast<std::ptrdiff_t>(i * 4), 4, at);
  }
  std::ranges::copy(kQoiEnd, at);
  return *file;
}

}  // namespace

Result<ConstBytes> as_image_file(ConstBytes stored, const Source::Allocate& allocate) {
  const Limits limits;
  ByteReader reader(stored);
  PillowImage image;
  image.width = reader.read<std::uint32_t>();
  image.height = reader.read<std::uint32_t>();
  const auto mode_bytes = reader.read<std::uint32_t>();
  if (reader.ok() && mode_bytes > kMaxModeBytes)
    return fail(ErrorCode::kCorrupt, fmt::format("a pil image whose mode has {} letters", mode_bytes));
  const std::string mode(reader.take_text(mode_bytes));
  if (!reader.ok()) return fail(ErrorCode::kTruncated, "a pil image ends within its header");
  if (image.width == 0 || image.height == 0 || image.width > limits.image_side || image.height > limits.image_side ||
      std::uint64_t{image.width} * image.height > limits.image_pixels)
    return fail(ErrorCode::kTooLarge, fmt::format("a pil image of {} x {} pixels", image.width, image.height));
  image.pixels = reader.take(reader.left());
  const std::uint64_t width = image.width;
  std::uint64_t row_bytes = 0;
  if (mode == "1") row_bytes = (width + 7) / 8;
  if (mode == "L" || mode == "P") row_bytes = width;
  if (mode == "RGB") row_bytes = width * 3;
  if (mode == "RGBA") row_bytes = width * 4;
  if (row_bytes == 0) {
    std::string shown = mode;
    std::ranges::replace_if(shown, [](char c) { return c < 0x20 || c > 0x7E; }, '?');
    return fail(ErrorCode::kUnsupported,
                fmt::format("a pil image of the mode \"{}\"; 1, L, P, RGB and RGBA are read", shown));
  }
  if (image.pixels.size() != row_bytes * image.height)
    return fail(ErrorCode::kCorrupt, fmt::format("a pil image of {} x {} pixels of the mode {} has {} bytes of them",
                                                 image.width, image.height, mode, image.pixels.size()));
  if (mode == "RGBA") return as_qoi(image, allocate);
  // A bit that is set is white for Pillow, and black in a PBM.
  if (mode == "1") return as_pnm('4', true, image, allocate);
  return as_pnm(mode == "RGB" ? '6' : '5', false, image, allocate);
}

}  // namespace penstock
