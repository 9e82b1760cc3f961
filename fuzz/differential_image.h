// What the image targets share: whatever is accepted must give the same pixels by region as whole.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "decode/image/image_formats.h"

namespace penstock {

[[noreturn]] inline void broken(const char* promise) {
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

inline std::vector<std::byte> pixels_of(const PixelView& view, int bytes) {
  std::vector<std::byte> out;
  for (int y = 0; y < view.height; ++y)
    for (int x = 0; x < view.width; ++x)
      for (int c = 0; c < (bytes == 4 ? 3 : 1); ++c)
        out.push_back(view.data[y * view.row_stride + x * bytes + c]);
  return out;
}

inline void check_regions(ImageCodec& codec, ConstBytes encoded) {
  const auto header = codec.open(encoded);
  if (!header) return;
  if (header->width < 1 || header->height < 1 || header->orientation < 1 || header->orientation > 8)
    broken("a sane header");
  Draws draws(encoded.size(), static_cast<std::uint64_t>(header->width),
              static_cast<std::uint64_t>(header->height));
  for (const PixelFormat format : {PixelFormat::kRgbx, PixelFormat::kGrey, PixelFormat::kIndex}) {
    const int bytes = bytes_per_pixel(format);
    const DecodeRequest whole{{0, 0, header->width, header->height}, format, 1};
    if (!codec.open(encoded)) broken("opening twice");
    std::vector<std::byte> buffer(codec.buffer_bytes(whole));
    const auto full = codec.decode(whole, buffer);
    if (!full) continue;
    if (full->width != header->width || full->height != header->height) broken("the whole picture");
    const auto all = pixels_of(*full, bytes);
    const auto w = static_cast<std::uint64_t>(header->width), h = static_cast<std::uint64_t>(header->height);
    const int rw = 1 + static_cast<int>(draws.below(w)), rh = 1 + static_cast<int>(draws.below(h));
    const Rect region{static_cast<int>(draws.below(w - static_cast<std::uint64_t>(rw) + 1)),
                      static_cast<int>(draws.below(h - static_cast<std::uint64_t>(rh) + 1)), rw, rh};
    if (!codec.open(encoded)) broken("opening again");
    std::vector<std::byte> small(codec.buffer_bytes({region, format, 1}));
    const auto part = codec.decode({region, format, 1}, small);
    if (!part) broken("a region of a picture that decodes as a whole");
    const auto got = pixels_of(*part, bytes);
    const int channels = bytes == 4 ? 3 : 1;
    for (int y = 0; y < rh; ++y)
      for (int x = 0; x < rw * channels; ++x)
        if (got[static_cast<std::size_t>(y * rw * channels + x)] !=
            all[static_cast<std::size_t>(((region.y + y) * header->width + region.x) * channels + x)])
          broken("region pixels equal to the whole picture's");
  }
}

// A codec that has seen another picture must do what a new one does: pixels may not depend on what
// a thread decoded before.
using MakeCodec = std::unique_ptr<ImageCodec> (*)(const Limits&);
inline void check_image(MakeCodec make, ConstBytes other, ConstBytes encoded, const Limits& limits) {
  const auto fresh = make(limits), used = make(limits);
  check_regions(*fresh, encoded);
  const auto decode = [](ImageCodec& codec, ConstBytes bytes) -> std::optional<std::vector<std::byte>> {
    const auto header = codec.open(bytes);
    if (!header) return std::nullopt;
    const DecodeRequest request{{0, 0, header->width, header->height}, PixelFormat::kRgbx, 1};
    std::vector<std::byte> buffer(codec.buffer_bytes(request));
    const auto view = codec.decode(request, buffer);
    if (!view) return std::nullopt;
    return pixels_of(*view, 4);
  };
  if (!other.empty()) (void)decode(*used, other);
  if (decode(*used, encoded) != decode(*fresh, encoded))
    broken("pixels that do not depend on the picture before");
}

// Small pictures only, so that an input takes milliseconds.
inline Limits fuzz_limits() { return {.image_pixels = 1 << 14, .image_side = 1 << 10, .jpeg_scans = 20}; }

}  // namespace penstock
