// A region of an encoded image as packed pixels without the unused fourth byte.
#pragma once

#include <cstring>
#include <vector>

#include "decode/image/image.h"
#include "support/encode_images.h"

namespace penstock {

inline Result<Picture> decode_region(ImageDecoder& decoder, const Encoded& encoded, const Rect& region,
                                     PixelFormat format = PixelFormat::kRgbx, int scale = 1) {
  const auto header = decoder.open(encoded);
  if (!header) return std::unexpected(header.error());
  const DecodeRequest request{region, format, scale};
  std::vector<std::byte> buffer(decoder.buffer_bytes(request));
  const auto view = decoder.decode(request, buffer);
  if (!view) return std::unexpected(view.error());
  const int bytes = bytes_per_pixel(format), channels = bytes == 4 ? 3 : 1;
  Picture out{view->width, view->height, channels, {}};
  for (int y = 0; y < view->height; ++y)
    for (int x = 0; x < view->width; ++x)
      for (int c = 0; c < channels; ++c)
        out.pixels.push_back(std::to_integer<std::uint8_t>(view->data[y * view->row_stride + x * bytes + c]));
  return out;
}

inline Result<Picture> decode_all(ImageDecoder& decoder, const Encoded& encoded,
                                  PixelFormat format = PixelFormat::kRgbx) {
  const auto header = decoder.open(encoded);
  if (!header) return std::unexpected(header.error());
  return decode_region(decoder, encoded, {0, 0, header->width, header->height}, format);
}

inline Picture crop_of(const Picture& picture, const Rect& region) {
  Picture out{region.width, region.height, picture.channels, {}};
  for (int y = 0; y < region.height; ++y)
    for (int x = 0; x < region.width; ++x)
      for (int c = 0; c < picture.channels; ++c)
        out.pixels.push_back(picture.at(region.x + x, region.y + y, c));
  return out;
}

}  // namespace penstock
