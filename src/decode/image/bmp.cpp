// Windows and OS/2 bitmaps: 1, 4 and 8 bits with a palette, 16, 24 and 32 bits, and run-length coding.
// Without run-length coding, the position of each row is known, so only the region is read.
#include <bit>

#include <fmt/format.h>

#include "base/byte_reader.h"
#include "decode/image/grey.h"
#include "decode/image/image_formats.h"
#include "decode/image/indexed_pixels.h"

namespace penstock {
namespace {

constexpr std::size_t kFileHeaderBytes = 14;

enum class BmpCompression : std::uint32_t { kNone = 0, kRunLengths8 = 1, kRunLengths4 = 2, kBitfields = 3 };

// The bits of a colour in a pixel of 16 or 32 bits.
class ColourMask {
 public:
  ColourMask() = default;
  explicit ColourMask(std::uint32_t mask)
      : shift_(mask == 0 ? 0 : static_cast<unsigned>(std::countr_zero(mask))),
        most_(mask == 0 ? 0 : mask >> shift_) {}

  // Whether the mask is supported: contiguous bits, at most eight.
  bool is_read() const { return most_ <= 0xFF && std::has_single_bit(std::uint64_t{most_} + 1); }
  std::uint8_t value(std::uint32_t pixel) const {
    return most_ == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>((pixel >> shift_ & most_) * 255 / most_);
  }

 private:
  unsigned shift_ = 0;
  std::uint32_t most_ = 0;
};

std::unexpected<Error> truncated() { return fail(ErrorCode::kTruncated, "truncated BMP"); }

class BmpCodec final : public ImageCodec {
 public:
  explicit BmpCodec(const Limits& limits) : limits_(limits) {}

  Result<ImageHeader> open(ConstBytes encoded) override {
    ByteReader reader(encoded);
    reader.take(10);  // "BM", the size of the file, which some writers get wrong, and reserved bytes
    auto pixels_at = std::size_t{reader.read<std::uint32_t>()};
    const auto header_bytes = reader.read<std::uint32_t>();
    if (!reader.ok()) return truncated();
    PENSTOCK_CHECK(read_info(reader, header_bytes));
    const std::size_t entry_bytes = header_bytes == 12 ? 3 : 4;
    if (bits_ <= 8) {
      // Some writers forget the palette when they say where the pixels begin.
      if (pixels_at == kFileHeaderBytes + header_bytes) pixels_at += entry_bytes * colours_;
      PENSTOCK_CHECK(read_palette(reader, entry_bytes));
    }
    if (pixels_at == 0) pixels_at = reader.offset();
    if (pixels_at > encoded.size()) return truncated();
    pixels_ = encoded.subspan(pixels_at);
    if (!has_runs()) {
      const std::uint64_t last_row = (std::uint64_t{width_} * bits_ + 7) / 8;
      if (pixels_.size() < row_stride() * (height_ - 1) + last_row) return truncated();
    }
    return ImageHeader{static_cast<int>(width_), static_cast<int>(height_), 1, 0};
  }

  std::size_t buffer_bytes(const DecodeRequest& request) const override {
    return decoded_region_bytes(request) + (has_runs() ? std::size_t{width_} * height_ : 0);
  }

  Result<PixelView> decode(const DecodeRequest& request, MutableBytes buffer) override {
    if (request.format == PixelFormat::kIndex && bits_ > 8)
      return fail(ErrorCode::kUnsupported, "a mask must have a palette or be grey, not colours");
    if (buffer_bytes(request) > buffer.size())
      return fail(ErrorCode::kNoMemory, "region larger than its buffer");
    const MutableBytes unpacked = buffer.subspan(decoded_region_bytes(request));
    if (has_runs()) PENSTOCK_CHECK(unpack_runs(unpacked));
    const Rect& region = request.region;
    const std::size_t stride = decoded_row_bytes(request);
    for (int y = 0; y < region.height; ++y) {
      const auto row = static_cast<std::size_t>(region.y + y);
      const std::size_t stored = is_top_down_ ? row : height_ - 1 - row;
      std::byte* out = buffer.data() + stride * static_cast<std::size_t>(y);
      if (has_runs())
        write_indexed_row(unpacked.data() + stored * width_, 8, region.x, region.width, palette_,
                          request.format, out);
      else
        write_row(pixels_.data() + stored * row_stride(), region.x, region.width, request.format, out);
    }
    return finish_region(request, buffer);
  }

 private:
  bool has_runs() const {
    return compression_ == BmpCompression::kRunLengths8 || compression_ == BmpCompression::kRunLengths4;
  }
  std::size_t row_stride() const { return (std::size_t{width_} * bits_ + 31) / 32 * 4; }

  Status read_info(ByteReader& reader, std::uint32_t header_bytes) {
    compression_ = BmpCompression::kNone;
    is_top_down_ = false;
    colours_ = 0;
    std::uint64_t width = 0, height = 0;
    std::uint32_t compression = 0;
    if (header_bytes == 12) {
      width = reader.read<std::uint16_t>();
      height = reader.read<std::uint16_t>();
      reader.take(2);  // planes
      bits_ = reader.read<std::uint16_t>();
    } else if (header_bytes == 40 || header_bytes == 52 || header_bytes == 56 || header_bytes == 64 ||
               header_bytes == 108 || header_bytes == 124) {
      width = reader.read<std::uint32_t>();
      const std::int64_t signed_height = reader.read<std::int32_t>();
      is_top_down_ = signed_height < 0;
      height = static_cast<std::uint64_t>(is_top_down_ ? -signed_height : signed_height);
      reader.take(2);
      bits_ = reader.read<std::uint16_t>();
      compression = reader.read<std::uint32_t>();
      reader.take(12);  // bytes of pixels, resolution
      colours_ = reader.read<std::uint32_t>();
      reader.take(4);
    } else {
      return fail(ErrorCode::kUnsupported, fmt::format("a BMP header of {} bytes is not read", header_bytes));
    }
    if (!reader.ok()) return truncated();
    PENSTOCK_CHECK(check_image_size(width, height, limits_));
    width_ = static_cast<std::uint32_t>(width);
    height_ = static_cast<std::uint32_t>(height);
    if (bits_ != 1 && bits_ != 4 && bits_ != 8 && bits_ != 16 && bits_ != 24 && bits_ != 32)
      return fail(ErrorCode::kUnsupported, fmt::format("a BMP of {} bits per pixel is not read", bits_));
    PENSTOCK_CHECK(set_compression(compression));
    if (colours_ == 0 && bits_ <= 8) colours_ = 1u << bits_;
    PENSTOCK_CHECK(read_masks(reader, header_bytes));
    // Colour spaces and gamma of longer headers are ignored.
    const std::size_t behind = kFileHeaderBytes + header_bytes;
    if (reader.offset() < behind) reader.take(behind - reader.offset());
    return reader.ok() ? Status() : truncated();
  }

  Status set_compression(std::uint32_t compression) {
    compression_ = static_cast<BmpCompression>(compression);
    const bool fits = compression_ == BmpCompression::kNone ||
                      (compression_ == BmpCompression::kRunLengths8 && bits_ == 8) ||
                      (compression_ == BmpCompression::kRunLengths4 && bits_ == 4) ||
                      (compression_ == BmpCompression::kBitfields && bits_ >= 16);
    if (fits) return {};
    return fail(ErrorCode::kUnsupported,
                fmt::format("BMP compression {} with {} bits per pixel is not read", compression, bits_));
  }

  // Short headers are followed by the masks, longer ones contain them.
  Status read_masks(ByteReader& reader, std::uint32_t header_bytes) {
    std::array<std::uint32_t, 3> masks = bits_ == 16 ? std::array<std::uint32_t, 3>{0x7C00, 0x3E0, 0x1F}
                                                     : std::array<std::uint32_t, 3>{0xFF0000, 0xFF00, 0xFF};
    if (compression_ == BmpCompression::kBitfields) {
      if (header_bytes == 12 || header_bytes == 64)
        return fail(ErrorCode::kUnsupported, "BMP colour masks in an OS/2 header are not read");
      std::array<std::uint32_t, 3> found;
      for (std::uint32_t& mask : found) mask = reader.read<std::uint32_t>();
      if (!reader.ok()) return truncated();
      if (found != std::array<std::uint32_t, 3>{}) masks = found;
    }
    for (std::size_t i = 0; i < masks.size(); ++i) {
      masks_[i] = ColourMask(masks[i]);
      if (!masks_[i].is_read())
        return fail(ErrorCode::kUnsupported, fmt::format("the BMP colour mask {:#x} is not read", masks[i]));
    }
    return {};
  }

  Status read_palette(ByteReader& reader, std::size_t entry_bytes) {
    if (colours_ > 65536)
      return fail(ErrorCode::kCorrupt, fmt::format("a BMP palette of {} colours", colours_));
    for (std::size_t i = 0; i < colours_; ++i) {
      const ConstBytes entry = reader.take(entry_bytes);
      if (!reader.ok()) return truncated();
      if (i >= palette_.size()) continue;
      palette_[i] = {std::to_integer<std::uint8_t>(entry[2]), std::to_integer<std::uint8_t>(entry[1]),
                     std::to_integer<std::uint8_t>(entry[0]), 0xFF};
    }
    fill_up(palette_, std::min<std::size_t>(colours_, palette_.size()));
    return {};
  }

  void write_row(const std::byte* row, int x, int count, PixelFormat format, std::byte* out) const {
    if (bits_ <= 8) return write_indexed_row(row, bits_, x, count, palette_, format, out);
    const std::size_t pixel_bytes = bits_ / 8;
    for (int i = 0; i < count; ++i) {
      std::uint32_t pixel = 0;
      std::memcpy(&pixel, row + static_cast<std::size_t>(x + i) * pixel_bytes, pixel_bytes);
      const Rgbx colour{masks_[0].value(pixel), masks_[1].value(pixel), masks_[2].value(pixel), 0xFF};
      std::memcpy(out + std::ptrdiff_t{4} * i, &colour, 4);
    }
  }

  // Writes the palette indexes of all pixels, with rows in stored order. Skipped pixels are 0. A run that is
  // longer than its row is cut, as in Pillow.
  Status unpack_runs(MutableBytes out) const {
    std::ranges::fill(out, std::byte{0});
    ByteReader reader(pixels_);
    std::size_t x = 0, y = 0;
    const auto put = [&](std::uint8_t index) {
      if (x < width_) out[y * width_ + x++] = std::byte{index};
    };
    const bool is_half = compression_ == BmpCompression::kRunLengths4;
    const auto part_of = [&](std::uint8_t byte, std::size_t i) {
      return static_cast<std::uint8_t>(!is_half ? byte : i % 2 == 0 ? byte >> 4 : byte & 0x0F);
    };
    while (y < height_) {
      const auto count = reader.read<std::uint8_t>(), value = reader.read<std::uint8_t>();
      if (!reader.ok()) {
        // Some writers omit the end marker.
        if (y + 1 == height_ && x == width_) return {};
        return truncated();
      }
      if (count > 0) {
        for (std::size_t i = 0; i < count; ++i) put(part_of(value, i));
      } else if (value == 0) {  // end of the row
        x = 0;
        ++y;
      } else if (value == 1) {  // end of the picture
        return {};
      } else if (value == 2) {  // a jump
        const auto right = reader.read<std::uint8_t>(), down = reader.read<std::uint8_t>();
        x += right;
        y += down;
        if (!reader.ok() || x > width_) return fail(ErrorCode::kCorrupt, "bad BMP (a jump out of the row)");
      } else {  // pixels one by one, padded to an even number of bytes
        const std::size_t bytes = is_half ? (value + 1u) / 2 : value;
        const ConstBytes plain = reader.take(bytes);
        if (!reader.ok()) return truncated();
        for (std::size_t i = 0; i < value; ++i)
          put(part_of(std::to_integer<std::uint8_t>(plain[is_half ? i / 2 : i]), i));
        if (bytes % 2 == 1 && reader.left() > 0) reader.take(1);
      }
    }
    return {};
  }

  Limits limits_;
  ConstBytes pixels_;
  std::uint32_t width_ = 0, height_ = 0, colours_ = 0;
  std::uint16_t bits_ = 0;
  BmpCompression compression_ = BmpCompression::kNone;
  bool is_top_down_ = false;
  std::array<ColourMask, 3> masks_;  // red, green, blue
  Palette palette_{};
};

}  // namespace

std::unique_ptr<ImageCodec> make_bmp_codec(const Limits& limits) {
  return std::make_unique<BmpCodec>(limits);
}

}  // namespace penstock
