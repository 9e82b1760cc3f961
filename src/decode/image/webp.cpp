// Decodes WebP with libwebp. The whole picture is decoded, and the region is a view of it, because libwebp
// moves crops to even columns, and the pixels must equal those of a full decode.
#include "decode/image/image_formats.h"

#ifdef PENSTOCK_WITH_WEBP
#include <webp/decode.h>

#include <algorithm>

#include "base/byte_reader.h"
#include "decode/image/exif.h"
#include "decode/image/grey.h"
#include "decode/image/webp_lossless.h"
#endif

namespace penstock {

#ifdef PENSTOCK_WITH_WEBP

namespace {

// Walks the chunks of an extended file ("VP8X"), the only kind that can have EXIF. Like libwebp's demuxer, it
// uses an EXIF chunk only if the flags announce one.
int webp_orientation(ConstBytes encoded) {
  constexpr std::uint8_t kHasExif = 0x08;
  ByteReader reader(encoded);
  reader.take(12);  // "RIFF", the file's length, "WEBP"
  for (bool is_first = true; reader.left() >= 8; is_first = false) {
    const std::string_view type = reader.take_text(4);
    const auto length = reader.read<std::uint32_t>();
    const ConstBytes body = reader.take(length);
    if (!reader.ok()) return 1;
    if (is_first && (type != "VP8X" || body.empty() || (std::to_integer<unsigned>(body[0]) & kHasExif) == 0))
      return 1;
    if (type == "EXIF") return orientation_in_exif(body);
    if (length % 2 == 1) reader.take(1);  // chunks begin at even offsets
  }
  return 1;
}

// Memory that libwebp allocates: all pixels (of a lossless image, or of lossless alpha), small images of up
// to three transforms, a few rows, and Huffman codes.
Result<std::uint64_t> webp_working_bytes(ConstBytes encoded, std::uint32_t width, std::uint32_t height) {
  constexpr std::uint64_t kWebpFixedBytes = 256 << 10;
  constexpr std::uint64_t kBytesPerColumn = 160;
  constexpr std::size_t kLosslessHeaderBytes = 5, kAlphaHeaderBytes = 1;
  const std::uint64_t small_image = 4ull * ((width + 3) / 4) * ((height + 3) / 4);
  const std::uint64_t bytes = 4ull * width * height + 3 * small_image + kBytesPerColumn * width + kWebpFixedBytes;
  ByteReader reader(encoded);
  reader.take(12);  // "RIFF", the file's length, "WEBP"
  std::uint64_t of_alpha = 0;
  while (reader.left() >= 8) {
    const std::string_view type = reader.take_text(4);
    const auto length = reader.read<std::uint32_t>();
    // The last chunk may be truncated, which libwebp notices when it decodes.
    const ConstBytes body = reader.take(std::min<std::size_t>(length, reader.left()));
    if (type == "VP8 ") return bytes + of_alpha;
    const bool is_lossless = type == "VP8L" && body.size() > kLosslessHeaderBytes;
    const bool is_lossless_alpha = type == "ALPH" && body.size() > kAlphaHeaderBytes &&
                                   (std::to_integer<unsigned>(body[0]) & 3) == 1;
    if (is_lossless || is_lossless_alpha) {
      const auto huffman = webp_huffman_bytes(
          body.subspan(is_lossless ? kLosslessHeaderBytes : kAlphaHeaderBytes), width, height);
      if (!huffman) return huffman;
      if (is_lossless) return bytes + *huffman;
      of_alpha = *huffman + 1ull * width * height;
    }
    if (length % 2 == 1 && reader.left() > 0) reader.take(1);  // chunks begin at even offsets
  }
  return bytes + of_alpha;
}

class WebpCodec final : public ImageCodec {
 public:
  explicit WebpCodec(const Limits& limits) : limits_(limits) {}

  Result<ImageHeader> open(ConstBytes encoded) override {
    encoded_ = encoded;
    WebPBitstreamFeatures features;
    const VP8StatusCode status = WebPGetFeatures(data(), encoded.size(), &features);
    if (status == VP8_STATUS_NOT_ENOUGH_DATA) return fail(ErrorCode::kTruncated, "truncated WebP");
    if (status != VP8_STATUS_OK) return fail(ErrorCode::kCorrupt, "bad WebP header");
    if (features.has_animation) return fail(ErrorCode::kUnsupported, "animated WebP is not read");
    PENSTOCK_CHECK(check_image_size(static_cast<std::uint64_t>(features.width),
                                    static_cast<std::uint64_t>(features.height), limits_));
    width_ = features.width;
    height_ = features.height;
    const auto working_bytes =
        webp_working_bytes(encoded, static_cast<std::uint32_t>(width_), static_cast<std::uint32_t>(height_));
    if (!working_bytes) return std::unexpected(working_bytes.error());
    return ImageHeader{width_, height_, webp_orientation(encoded), *working_bytes};
  }

  std::size_t buffer_bytes(const DecodeRequest&) const override {
    return std::size_t{4} * static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_);
  }

  Result<PixelView> decode(const DecodeRequest& request, MutableBytes buffer) override {
    if (request.format == PixelFormat::kIndex)
      return fail(ErrorCode::kUnsupported, "a mask must be an 8-bit grey or palette PNG");
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) return fail(ErrorCode::kUnsupported, "libwebp mismatch");
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = reinterpret_cast<std::uint8_t*>(buffer.data());
    config.output.u.RGBA.stride = 4 * width_;
    config.output.u.RGBA.size = buffer_bytes(request);
    const VP8StatusCode status = WebPDecode(data(), encoded_.size(), &config);
    WebPFreeDecBuffer(&config.output);
    if (status == VP8_STATUS_NOT_ENOUGH_DATA || status == VP8_STATUS_SUSPENDED)
      return fail(ErrorCode::kTruncated, "truncated WebP");
    if (status == VP8_STATUS_OUT_OF_MEMORY) return fail(ErrorCode::kNoMemory, "libwebp has no memory");
    if (status != VP8_STATUS_OK) return fail(ErrorCode::kCorrupt, "bad WebP data");
    const Rect& region = request.region;
    const std::ptrdiff_t stride = std::ptrdiff_t{4} * width_;
    const PixelView view{buffer.data() + region.y * stride + region.x * 4, region.width, region.height,
                         stride};
    return request.format == PixelFormat::kGrey ? grey_in_place(view, buffer.data()) : view;
  }

 private:
  const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(encoded_.data()); }

  Limits limits_;
  ConstBytes encoded_;
  int width_ = 0, height_ = 0;
};

}  // namespace

std::unique_ptr<ImageCodec> make_webp_codec(const Limits& limits) {
  return std::make_unique<WebpCodec>(limits);
}

#else

std::unique_ptr<ImageCodec> make_webp_codec(const Limits&) { return nullptr; }

#endif

}  // namespace penstock
