#include "pack/image_encoder.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE
#include <optional>
#include <string>
#include <vector>

#include <jpeglib.h>

#include <fmt/format.h>

#include "penstock/interruption.h"

namespace penstock {
namespace {

constexpr std::size_t kPieceBytes = 64 << 10;

Status check_encodable(const View& image) {
  if (image.dtype == DType::kUInt8 && image.affine.scale == nullptr && image.rank == 3 &&
      (image.channels() == 1 || image.channels() == 3))
    return {};
  return fail(ErrorCode::kUnsupported, "only pixels of uint8 with one or three channels can be encoded as an image");
}

// Copies row `y` to consecutive bytes.
void copy_row(const View& image, std::int64_t y, std::vector<unsigned char>& row) {
  const std::byte* const begin = image.data + y * image.stride[0];
  const std::int64_t channels = image.channels();
  std::size_t at = 0;
  for (std::int64_t x = 0; x < image.width(); ++x)
    for (std::int64_t c = 0; c < channels; ++c)
      row[at++] = std::to_integer<unsigned char>(begin[x * image.stride[1] + c * image.stride[2]]);
}

// ---- JPEG. libjpeg calls back into C++, and leaves by longjmp, which must not pass objects with destructors.

struct JpegTarget {
  jpeg_destination_mgr manager;
  PackBuffer* out;
  unsigned char* piece;
  Status* status;
};

struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void on_jpeg_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  (*info->err->format_message)(info, errors->message);
  std::longjmp(errors->jump, 1);
}

void begin_jpeg(j_compress_ptr info) {
  auto* target = reinterpret_cast<JpegTarget*>(info->dest);
  target->manager.next_output_byte = target->piece;
  target->manager.free_in_buffer = kPieceBytes;
}

bool append_piece(JpegTarget& target, std::size_t size) {
  if (*target.status) *target.status = target.out->append(as_bytes(target.piece, size));
  return target.status->has_value();
}

boolean flush_jpeg(j_compress_ptr info) {
  auto* target = reinterpret_cast<JpegTarget*>(info->dest);
  if (!append_piece(*target, kPieceBytes)) on_jpeg_error(reinterpret_cast<j_common_ptr>(info));
  begin_jpeg(info);
  return TRUE;
}

void end_jpeg(j_compress_ptr info) {
  auto* target = reinterpret_cast<JpegTarget*>(info->dest);
  if (!append_piece(*target, kPieceBytes - target->manager.free_in_buffer))
    on_jpeg_error(reinterpret_cast<j_common_ptr>(info));
}

// Returns false if libjpeg failed or `status` holds an error.
bool run_jpeg(const View& image, int quality, std::vector<unsigned char>& row, JpegTarget& target, JpegErrors& errors) {
  jpeg_compress_struct info;
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = on_jpeg_error;
  if (setjmp(errors.jump) != 0) {
    jpeg_destroy_compress(&info);
    return false;
  }
  jpeg_create_compress(&info);
  target.manager.init_destination = begin_jpeg;
  target.manager.empty_output_buffer = flush_jpeg;
  target.manager.term_destination = end_jpeg;
  info.dest = &target.manager;
  info.image_width = static_cast<JDIMENSION>(image.width());
  info.image_height = static_cast<JDIMENSION>(image.height());
  info.input_components = static_cast<int>(image.channels());
  info.in_color_space = image.channels() == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  info.optimize_coding = TRUE;
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    if (Interruption::is_requested()) {
      *target.status = check_interruption({});
      on_jpeg_error(reinterpret_cast<j_common_ptr>(&info));
    }
    copy_row(image, info.next_scanline, row);
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&info, rows, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  return true;
}

// ---- PNG.

struct PngTarget {
  PackBuffer* out;
  Status* status;
  char message[128] = {};
};

[[noreturn]] void on_png_error(png_structp png, png_const_charp message) {
  auto* target = static_cast<PngTarget*>(png_get_error_ptr(png));
  std::snprintf(target->message, sizeof target->message, "%s", message);
  png_longjmp(png, 1);
}

void on_png_warning(png_structp, png_const_charp) {}

void write_png(png_structp png, png_bytep bytes, png_size_t size) {
  auto* target = static_cast<PngTarget*>(png_get_io_ptr(png));
  *target->status = target->out->append(as_bytes(bytes, size));
  if (!*target->status) png_error(png, "no memory");
}

void flush_png(png_structp) {}

bool run_png(const View& image, std::vector<unsigned char>& row, png_structp png, png_infop info) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width()), static_cast<png_uint_32>(image.height()), 8,
               image.channels() == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (std::int64_t y = 0; y < image.height(); ++y) {
    if (Interruption::is_requested()) {
      auto* target = static_cast<PngTarget*>(png_get_io_ptr(png));
      *target->status = check_interruption({});
      png_error(png, "stopped");
    }
    copy_row(image, y, row);
    png_write_row(png, row.data());
  }
  png_write_end(png, nullptr);
  return true;
}

}  // namespace

Status encode_jpeg(const View& image, int quality, PackBuffer& out) {
  PENSTOCK_CHECK(check_encodable(image));
  std::vector<unsigned char> row(static_cast<std::size_t>(image.width() * image.channels())), piece(kPieceBytes);
  Status status;
  JpegTarget target{{}, &out, piece.data(), &status};
  JpegErrors errors{};
  if (run_jpeg(image, quality, row, target, errors)) return {};
  if (!status) return status;
  return fail(ErrorCode::kUnsupported, fmt::format("cannot be encoded as JPEG: {}", errors.message));
}

Status encode_png(const View& image, PackBuffer& out) {
  PENSTOCK_CHECK(check_encodable(image));
  std::vector<unsigned char> row(static_cast<std::size_t>(image.width() * image.channels()));
  Status status;
  PngTarget target{&out, &status};
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &target, on_png_error, on_png_warning);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  if (info == nullptr) {
    png_destroy_write_struct(&png, nullptr);
    return fail(ErrorCode::kNoMemory, "the system has no memory left");
  }
  png_set_write_fn(png, &target, write_png, flush_png);
  const bool is_done = run_png(image, row, png, info);
  png_destroy_write_struct(&png, &info);
  if (is_done) return {};
  if (!status) return status;
  return fail(ErrorCode::kUnsupported, fmt::format("cannot be encoded as PNG: {}", target.message));
}

}  // namespace penstock
