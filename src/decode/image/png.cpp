// Decodes PNG with libpng. Rows below the region are not inflated, and data after the last row is ignored, as
// in Pillow. This code checks all chunks and their checksums itself, because libpng compares a checksum only
// after it has read the whole chunk.
#include <png.h>
#include <zlib.h>

#include <csetjmp>
#include <cstring>
#include <string>

#include "decode/image/exif.h"
#include "decode/image/grey.h"
#include "decode/image/image_formats.h"
#include "decode/interrupted.h"

namespace penstock {
namespace {

struct Input {
  ConstBytes bytes;
  std::size_t at = 0;
  ErrorCode error = ErrorCode::kCorrupt;
  char message[128] = {};
};

void read_input(png_structp png, png_bytep out, png_size_t size) {
  auto* input = static_cast<Input*>(png_get_io_ptr(png));
  if (size > input->bytes.size() - input->at) png_error(png, "data ends too early");
  std::memcpy(out, input->bytes.data() + input->at, size);
  input->at += size;
}

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* input = static_cast<Input*>(png_get_error_ptr(png));
  std::snprintf(input->message, sizeof input->message, "%s", message);
  png_longjmp(png, 1);
}

void read_row(png_structp png, png_bytep out) {
  if (Interruption::is_requested()) {
    static_cast<Input*>(png_get_error_ptr(png))->error = ErrorCode::kStopped;
    png_error(png, kDecodingInterrupted);
  }
  png_read_row(png, out, nullptr);
}

void on_warning(png_structp, png_const_charp) {}

// The structures of libpng, the window and tables of zlib, and two rows of at most eight bytes per pixel.
std::uint64_t png_library_bytes(std::uint64_t width) { return (std::uint64_t{80} << 10) + 2 * 8 * (width + 64); }

std::uint32_t big_endian_u32(ConstBytes bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + i]);
  return value;
}

// Walks the chunks. A truncated file has no IEND chunk. Critical chunks (capital first letter) must match
// their checksums; an EXIF chunk that does not match is ignored.
Status check_chunks(ConstBytes bytes, int& orientation) {
  std::size_t at = 8;
  orientation = 1;
  while (bytes.size() - at >= 12) {
    const std::size_t length = big_endian_u32(bytes, at);
    if (length > bytes.size() - at - 12) break;
    const auto* type = reinterpret_cast<const Bytef*>(bytes.data() + at + 4);
    const auto is_sound = [&] {
      return crc32_z(0, type, length + 4) == big_endian_u32(bytes, at + 8 + length);
    };
    if (std::memcmp(type, "eXIf", 4) == 0 && is_sound())
      orientation = orientation_in_exif(bytes.subspan(at + 8, length));
    if ((*type & 0x20) == 0 && !is_sound())
      return fail(ErrorCode::kCorrupt, "bad PNG (checksum of the chunk at byte " + std::to_string(at) + ")");
    if (std::memcmp(type, "IEND", 4) == 0) return {};
    at += 12 + length;
  }
  return fail(ErrorCode::kTruncated, "truncated PNG");
}

class PngCodec final : public ImageCodec {
 public:
  explicit PngCodec(const Limits& limits) : limits_(limits) {}
  PngCodec(const PngCodec&) = delete;
  ~PngCodec() override { close(); }

  Result<ImageHeader> open(ConstBytes encoded) override {
    close();
    input_ = Input{encoded};
    if (encoded.size() < 8) return fail(ErrorCode::kTruncated, "truncated PNG");
    int orientation = 1;
    PENSTOCK_CHECK(check_chunks(encoded, orientation));
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &input_, on_error, on_warning);
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (!info_) return fail(ErrorCode::kNoMemory, "libpng has no memory");
    if (!read_header()) return library_error();
    const std::uint32_t width = png_get_image_width(png_, info_), height = png_get_image_height(png_, info_);
    PENSTOCK_CHECK(check_image_size(width, height, limits_));
    interlaced_ = png_get_interlace_type(png_, info_) != PNG_INTERLACE_NONE;
    return ImageHeader{static_cast<int>(width), static_cast<int>(height), orientation, png_library_bytes(width)};
  }

  std::size_t buffer_bytes(const DecodeRequest& request) const override {
    // An extra row at the end receives rows that are not needed. Interlaced images are decoded as a whole.
    const std::size_t row = row_bytes();
    return (interlaced_ ? std::size_t{png_get_image_height(png_, info_)}
                        : static_cast<std::size_t>(request.region.height) + 1) *
           row;
  }

  Result<PixelView> decode(const DecodeRequest& request, MutableBytes buffer) override {
    if (request.format == PixelFormat::kIndex) {
      const int type = png_get_color_type(png_, info_);
      if ((type != PNG_COLOR_TYPE_GRAY && type != PNG_COLOR_TYPE_PALETTE) ||
          png_get_bit_depth(png_, info_) == 16)
        return fail(ErrorCode::kUnsupported, "a mask must be an 8-bit grey or palette PNG");
    }
    if (buffer_bytes(request) > buffer.size())
      return fail(ErrorCode::kNoMemory, "region larger than its buffer");
    if (!read_region(request, buffer)) return library_error();
    const Rect& region = request.region;
    const int bytes = request.format == PixelFormat::kIndex ? 1 : 4;
    const auto stride = static_cast<std::ptrdiff_t>(row_bytes());
    const std::byte* top = buffer.data() + (interlaced_ ? region.y * stride : 0);
    const PixelView view{top + region.x * bytes, region.width, region.height, stride};
    return request.format == PixelFormat::kGrey ? grey_in_place(view, buffer.data()) : view;
  }

 private:
  std::size_t row_bytes() const { return std::size_t{4} * png_get_image_width(png_, info_); }

  // No object with a destructor may live in the functions that setjmp can return to.
  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_user_limits(png_, static_cast<png_uint_32>(limits_.image_side),
                        static_cast<png_uint_32>(limits_.image_side));
    // libpng would decompress texts and colour profiles, which pixels do not need. -1 ignores all chunks that
    // pixels do not need, known and unknown ones. check_chunks() has read the eXIf chunk.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_set_chunk_malloc_max(png_, 8u << 20);
    png_set_crc_action(png_, PNG_CRC_QUIET_USE, PNG_CRC_DEFAULT);  // check_chunks() has checked them
    png_set_read_fn(png_, &input_, read_input);
    png_read_info(png_, info_);
    return true;
  }

  bool read_region(const DecodeRequest& request, MutableBytes buffer) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    if (request.format == PixelFormat::kIndex) {
      png_set_packing(png_);
    } else {
      png_set_expand(png_);
      png_set_strip_16(png_);
      png_set_gray_to_rgb(png_);
      png_set_strip_alpha(png_);
      png_set_filler(png_, 0xFF, PNG_FILLER_AFTER);
    }
    const int passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    const std::size_t stride = row_bytes();
    if (png_get_rowbytes(png_, info_) > stride) png_error(png_, "unexpected row size");
    auto* out = reinterpret_cast<png_bytep>(buffer.data());
    const auto height = static_cast<int>(png_get_image_height(png_, info_));
    if (interlaced_) {
      for (int pass = 0; pass < passes; ++pass)
        for (int y = 0; y < height; ++y) read_row(png_, out + stride * static_cast<std::size_t>(y));
      return true;
    }
    const Rect& region = request.region;
    png_bytep spare = out + stride * static_cast<std::size_t>(region.height);
    for (int y = 0; y < region.y + region.height; ++y)
      read_row(png_, y < region.y ? spare : out + stride * static_cast<std::size_t>(y - region.y));
    return true;
  }

  void close() {
    if (png_) png_destroy_read_struct(&png_, info_ ? &info_ : nullptr, nullptr);
    png_ = nullptr;
    info_ = nullptr;
  }

  std::unexpected<Error> library_error() const {
    if (input_.error == ErrorCode::kStopped) return fail(input_.error, input_.message);
    return fail(input_.error, std::string("bad PNG (") + input_.message + ")");
  }

  Limits limits_;
  Input input_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  bool interlaced_ = false;
};

}  // namespace

std::unique_ptr<ImageCodec> make_png_codec(const Limits& limits) {
  return std::make_unique<PngCodec>(limits);
}

}  // namespace penstock
