// WebP by libwebp. The whole picture is decoded and the region is a view of it: libwebp snaps
// crops to even columns, and the pixels must be those of a full decode.
#include "decode/image.h"

#ifdef PENSTOCK_WITH_WEBP
#include <webp/decode.h>

#include "base/byte_reader.h"
#include "decode/exif.h"
#include "decode/grey.h"
#endif

namespace penstock {

#ifdef PENSTOCK_WITH_WEBP

namespace {

// Walks the chunks of an extended file ("VP8X"), the only kind that can have EXIF. As libwebp's demuxer
// does, it believes an EXIF chunk only where the flags announce one.
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
    return ImageHeader{width_, height_, webp_orientation(encoded),
                       4ull * static_cast<unsigned>(width_) * static_cast<unsigned>(height_)};
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
