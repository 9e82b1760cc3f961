// Rewriting accepts what the decoder accepts, and the result has the same pixels, as a whole and by region.
#include "decode/jpeg/jpeg_restarts.h"

#include "differential_image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  if (size < 2 || data[0] != 0xFF || data[1] != 0xD8) return -1;
  const ConstBytes source = as_bytes(data, size);
  const auto codec = make_jpeg_codec(fuzz_limits());
  const auto pixels = [&codec](ConstBytes jpeg) -> std::optional<std::vector<std::byte>> {
    const auto header = codec->open(jpeg);
    if (!header) return std::nullopt;
    const DecodeRequest request{{0, 0, header->width, header->height}, PixelFormat::kRgbx, 1};
    std::vector<std::byte> buffer(codec->buffer_bytes(request));
    const auto view = codec->decode(request, buffer);
    if (!view) return std::nullopt;
    return pixels_of(*view, 4);
  };
  const auto before = pixels(source);
  const auto rewritten = rewrite_with_restarts(source, fuzz_limits());
  if (!rewritten) {
    if (before && rewritten.error().code != ErrorCode::kUnsupported) broken("rewriting what can be decoded");
    return 0;
  }
  if (!before) broken("refusing what cannot be decoded");
  if (pixels(*rewritten) != before) broken("the same pixels");
  check_regions(*codec, *rewritten);
  return 0;
}
