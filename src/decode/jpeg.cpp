// JPEG by libjpeg-turbo, decoding only the rows and columns of a region.
//
// The pixels are those of a full decode. Two facts make that so (checked by tests on every
// subsampling): fancy upsampling looks one column past the region, so one more is asked for on
// each side; and rows are skipped once, from the top, because skipping again after an odd number
// of rows is wrong in libjpeg-turbo 2.1.
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

#include <jerror.h>  // knows all messages only after jpeglib.h

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "decode/cmyk.h"
#include "decode/exif.h"
#include "decode/grey.h"
#include "decode/image.h"
#include "decode/jpeg_entropy.h"

namespace penstock {
namespace {

constexpr int kRowsAtOnce = 16;

struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
  bool truncated;
  long scan_limit;
};

ErrorManager* manager_of(j_common_ptr info) { return reinterpret_cast<ErrorManager*>(info->err); }

[[noreturn]] void leave(j_common_ptr info) {
  ErrorManager* manager = manager_of(info);
  (*manager->base.format_message)(info, manager->message);
  std::longjmp(manager->escape, 1);
}

// libjpeg only warns where data runs out or makes no sense, and paints the rest grey. A training
// loop must not see such pixels, so these warnings are errors here. Harmless ones (stray bytes
// between segments, odd version numbers) stay warnings.
void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  switch (info->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER: manager_of(info)->truncated = true; leave(info);
    case JWRN_HUFF_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_ARITH_BAD_CODE: leave(info);
    default: break;
  }
}

void on_progress(j_common_ptr info) {
  auto* decompress = reinterpret_cast<j_decompress_ptr>(info);
  ErrorManager* manager = manager_of(info);
  if (decompress->input_scan_number <= manager->scan_limit) return;
  std::snprintf(manager->message, sizeof manager->message, "more than %ld scans", manager->scan_limit);
  std::longjmp(manager->escape, 1);
}

// Entropy-coded data never holds FF D9 (FF is always stuffed), so its absence means a cut file
// even where the wanted rows happen to be there. Before the scan, a thumbnail may have its own.
bool has_end_marker(ConstBytes encoded) {
  const std::size_t scan = jpeg_scan_offset(encoded);
  for (std::size_t at = encoded.size() - 1; at-- > scan;)
    if (encoded[at] == std::byte{0xFF} && encoded[at + 1] == std::byte{0xD9}) return true;
  return false;
}

// Adobe's JPEGs have inverted CMYK: every sample is 255 less the ink.
void cmyk_to_rgbx(std::uint8_t* pixels, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i, pixels += 4)
    for (int c = 0; c < 3; ++c) pixels[c] = light_under_ink(255u - pixels[c], pixels[3]);
}

class JpegCodec final : public ImageCodec {
 public:
  explicit JpegCodec(const Limits& limits) : limits_(limits) {
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = leave;
    errors_.base.emit_message = on_message;
    errors_.scan_limit = static_cast<long>(limits.jpeg_scans);
    progress_.progress_monitor = on_progress;
    create();
  }
  JpegCodec(const JpegCodec&) = delete;
  ~JpegCodec() override { jpeg_destroy_decompress(&info_); }

  Result<ImageHeader> open(ConstBytes encoded) override {
    encoded_ = encoded;
    // Made anew: a file without tables of its own must not be decoded with those of the last one.
    jpeg_destroy_decompress(&info_);
    create();
    if (!has_end_marker(encoded)) return fail(ErrorCode::kTruncated, "truncated JPEG");
    if (!read_header()) return library_error();
    PENSTOCK_CHECK(check_image_size(info_.image_width, info_.image_height, limits_));
    ImageHeader header{static_cast<int>(info_.image_width), static_cast<int>(info_.image_height),
                       exif_orientation(encoded), 0};
    if (info_.progressive_mode || jpeg_has_multiple_scans(&info_))
      // Every coefficient is kept (two bytes each) until the last scan is in.
      header.working_bytes =
          2ull * info_.image_width * info_.image_height * static_cast<unsigned>(info_.num_components);
    return header;
  }

  std::size_t buffer_bytes(const DecodeRequest& request) const override {
    const Rect region = scaled(request);
    const int columns =
        std::min(region.width + kFewestColumns + 2 * kWidestMcu, static_cast<int>(info_.image_width));
    return static_cast<std::size_t>(columns) * static_cast<std::size_t>(region.height) *
           (reads_grey(request.format) ? 1u : 4u);
  }

  Result<PixelView> decode(const DecodeRequest& request, MutableBytes buffer) override {
    if (request.format == PixelFormat::kIndex && info_.jpeg_color_space != JCS_GRAYSCALE)
      return fail(ErrorCode::kUnsupported, "a mask must be grey, or a palette PNG");
    const Rect region = scaled(request);
    Crop crop{};
    if (!read_region(request, region, buffer, crop)) return library_error();
    jpeg_abort_decompress(&info_);
    const int bytes = reads_grey(request.format) ? 1 : 4;
    const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(crop.width) * bytes;
    if (is_cmyk())
      cmyk_to_rgbx(reinterpret_cast<std::uint8_t*>(buffer.data()),
                   static_cast<std::size_t>(crop.width) * static_cast<std::size_t>(region.height));
    const PixelView view{buffer.data() + (region.x - static_cast<int>(crop.x)) * bytes, region.width,
                         region.height, stride};
    return request.format != PixelFormat::kRgbx && bytes == 4 ? grey_in_place(view, buffer.data()) : view;
  }

 private:
  static constexpr int kWidestMcu = 32;
  static constexpr int kFewestColumns = 8;

  struct Crop {
    JDIMENSION x, width;
  };

  void create() {
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
  }

  bool is_cmyk() const { return info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK; }
  bool reads_grey(PixelFormat format) const {
    return format != PixelFormat::kRgbx && info_.jpeg_color_space == JCS_GRAYSCALE;
  }

  static Rect scaled(const DecodeRequest& request) {
    const int d = request.scale_denominator;
    const Rect& r = request.region;
    const int x0 = r.x / d, y0 = r.y / d;
    return {x0, y0, (r.x + r.width + d - 1) / d - x0, (r.y + r.height + d - 1) / d - y0};
  }

  // No object with a destructor may live in the two functions that setjmp can return to.
  bool read_header() {
    errors_.truncated = false;
    if (setjmp(errors_.escape) != 0) return false;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(encoded_.data()), encoded_.size());
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  bool read_region(const DecodeRequest& request, const Rect& region, MutableBytes buffer, Crop& crop) {
    errors_.truncated = false;
    if (setjmp(errors_.escape) != 0) return false;
    info_.out_color_space = is_cmyk() ? JCS_CMYK : reads_grey(request.format) ? JCS_GRAYSCALE : JCS_EXT_RGBX;
    // Smoothing of unfinished progressive files looks at neighbours that a region may not have.
    info_.do_block_smoothing = FALSE;
    info_.scale_num = 1;
    info_.scale_denom = static_cast<unsigned>(request.scale_denominator);
    jpeg_start_decompress(&info_);
    if (jpeg_entropy_decoder_fits()) entropy_.attach(info_);
    const auto output_width = static_cast<int>(info_.output_width);
    // One column more on each side, and never so few that libjpeg changes its way of upsampling.
    const int right =
        std::min(output_width, std::max(region.x + region.width + 1, region.x - 1 + kFewestColumns));
    const int left = std::max(0, std::min(region.x - 1, right - kFewestColumns));
    crop = {static_cast<JDIMENSION>(left), static_cast<JDIMENSION>(right - left)};
    if (right - left < output_width)
      jpeg_crop_scanline(&info_, &crop.x, &crop.width);
    else
      crop = {0, info_.output_width};
    const std::size_t stride = std::size_t{crop.width} * static_cast<std::size_t>(info_.output_components);
    if (stride * static_cast<std::size_t>(region.height) > buffer.size()) {
      std::snprintf(errors_.message, sizeof errors_.message, "region wider than its buffer");
      return false;
    }
    if (region.y > 0) jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(region.y));
    auto* out = reinterpret_cast<JSAMPLE*>(buffer.data());
    for (int row = 0; row < region.height;) {
      JSAMPROW rows[kRowsAtOnce];
      const int count = std::min(kRowsAtOnce, region.height - row);
      for (int k = 0; k < count; ++k) rows[k] = out + stride * static_cast<std::size_t>(row + k);
      const JDIMENSION got = jpeg_read_scanlines(&info_, rows, static_cast<JDIMENSION>(count));
      if (got == 0) {
        std::snprintf(errors_.message, sizeof errors_.message, "no more rows");
        return false;
      }
      row += static_cast<int>(got);
    }
    return true;
  }

  std::unexpected<Error> library_error() {
    jpeg_abort_decompress(&info_);
    return fail(errors_.truncated ? ErrorCode::kTruncated : ErrorCode::kCorrupt,
                std::string(errors_.truncated ? "truncated JPEG (" : "bad JPEG (") + errors_.message + ")");
  }

  Limits limits_;
  ConstBytes encoded_;
  jpeg_decompress_struct info_{};
  jpeg_progress_mgr progress_{};
  JpegEntropyDecoder entropy_;
  ErrorManager errors_{};
};

}  // namespace

std::unique_ptr<ImageCodec> make_jpeg_codec(const Limits& limits) {
  return std::make_unique<JpegCodec>(limits);
}

}  // namespace penstock
