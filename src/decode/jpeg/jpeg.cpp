// Decodes JPEG with libjpeg-turbo, and only the rows and columns of a region.
//
// The pixels equal those of a full decode (tests check this for every subsampling), for two reasons. Fancy
// upsampling uses one column beyond the region, so one more column is decoded on each side. And rows are
// skipped only once, from the top, because libjpeg-turbo 2.1 makes errors if it skips again after an odd
// number of rows. Of an image with restart markers, libjpeg sees only the part that the region needs
// (jpeg_window.h).
//
// A file is refused if libjpeg warns about anything. If the region includes the last row, that covers data
// between the last block and the end marker, too.
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "decode/image/cmyk.h"
#include "decode/image/exif.h"
#include "decode/image/grey.h"
#include "decode/image/image_formats.h"
#include "decode/jpeg/jpeg_entropy.h"
#include "decode/jpeg/jpeg_errors.h"
#include "decode/jpeg/jpeg_memory.h"
#include "decode/jpeg/jpeg_window.h"

namespace penstock {
namespace {

constexpr int kRowsAtOnce = 16;

// Adobe's JPEGs have inverted CMYK: every sample is 255 less the ink.
void cmyk_to_rgbx(std::uint8_t* pixels, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i, pixels += 4)
    for (int c = 0; c < 3; ++c) pixels[c] = light_under_ink(255u - pixels[c], pixels[3]);
}

class JpegCodec final : public ImageCodec {
 public:
  explicit JpegCodec(const Limits& limits) : limits_(limits), errors_(limits) {
    info_.err = errors_.handler();
    create();
  }
  JpegCodec(const JpegCodec&) = delete;
  ~JpegCodec() override { jpeg_destroy_decompress(&info_); }

  Result<ImageHeader> open(ConstBytes encoded) override {
    encoded_ = encoded;
    // The decompressor is made anew, because a file without tables must not be decoded with those of the
    // previous file.
    jpeg_destroy_decompress(&info_);
    create();
    if (!has_jpeg_end_marker(encoded)) return fail(ErrorCode::kTruncated, "truncated JPEG");
    if (!read_header(encoded)) return library_error();
    PENSTOCK_CHECK(check_image_size(info_.image_width, info_.image_height, limits_));
    return ImageHeader{static_cast<int>(info_.image_width), static_cast<int>(info_.image_height),
                       exif_orientation(encoded), working_bytes()};
  }

  std::size_t buffer_bytes(const DecodeRequest& request) const override {
    const Rect region = scaled(request);
    const int columns =
        std::min(region.width + kFewestColumns + 2 * kWidestMcu, static_cast<int>(info_.image_width));
    return static_cast<std::size_t>(columns) * static_cast<std::size_t>(region.height) *
           (reads_grey(request.format) ? 1u : 4u);
  }

  bool can_scale() const override { return true; }

  Result<PixelView> decode(const DecodeRequest& request, MutableBytes buffer) override {
    if (request.format == PixelFormat::kIndex && info_.jpeg_color_space != JCS_GRAYSCALE)
      return fail(ErrorCode::kUnsupported, "a mask must be grey, or a palette PNG");
    const bool with_own_decoder = jpeg_entropy_decoder_fits();
    Rect region = scaled(request);
    window_.reset();
    if (with_own_decoder) enter_window(request, region);
    Crop crop{};
    Outcome outcome = read_region(request, region, buffer, crop, with_own_decoder);
    if (outcome == Outcome::kLeftToLibrary) {
      jpeg_abort_decompress(&info_);
      window_.reset();
      region = scaled(request);
      outcome = read_header(encoded_) ? read_region(request, region, buffer, crop, false) : Outcome::kFailed;
    }
    if (outcome != Outcome::kDone) return library_error();
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

  // kLeftToLibrary: our Huffman decoder has finished, but there are bytes before the marker that follows. libjpeg
  // decides whether they are damage; it tolerates a few.
  enum class Outcome : std::uint8_t { kDone, kFailed, kLeftToLibrary };

  void create() {
    jpeg_create_decompress(&info_);
    info_.progress = errors_.progress();
  }

  std::uint64_t working_bytes() {
    std::array<JpegSampling, MAX_COMPONENTS> sampling;
    const auto components = static_cast<std::size_t>(info_.num_components);
    for (std::size_t c = 0; c < components; ++c)
      sampling[c] = {info_.comp_info[c].h_samp_factor, info_.comp_info[c].v_samp_factor};
    const bool keeps_coefficients = info_.progressive_mode || jpeg_has_multiple_scans(&info_);
    return jpeg_working_bytes(info_.image_width, info_.image_height, std::span(sampling).first(components),
                              keeps_coefficients);
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

  // If the image has restart markers and the region is a part of it, makes that part the image that libjpeg sees,
  // and `region` relative to it.
  void enter_window(const DecodeRequest& request, Rect& region) {
    const bool is_baseline = !info_.progressive_mode && !info_.arith_code;
    if (!is_baseline || info_.restart_interval == 0 || info_.comps_in_scan != info_.num_components) return;
    const JpegWindow window = jpeg_window(info_, request.region, request.scale_denominator);
    const std::size_t scan_offset = encoded_.size() - info_.src->bytes_in_buffer;
    if (window.is_whole_image ||
        !write_window_header(encoded_.first(scan_offset), window.pixels, window_header_))
      return;
    jpeg_abort_decompress(&info_);
    if (!read_header(window_header_)) {
      read_header(encoded_);
      return;
    }
    window_ = window;
    scan_ = encoded_.subspan(scan_offset);
    region.x -= window.pixels.x / request.scale_denominator;
    region.y -= window.pixels.y / request.scale_denominator;
  }

  // No object with a destructor may live in the two functions that setjmp can return to.
  bool read_header(ConstBytes jpeg) {
    errors_.begin();
    if (setjmp(errors_.escape) != 0) return false;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(jpeg.data()), jpeg.size());
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  Outcome read_region(const DecodeRequest& request, const Rect& region, MutableBytes buffer, Crop& crop,
                      bool with_own_decoder) {
    if (setjmp(errors_.escape) != 0) return Outcome::kFailed;
    info_.out_color_space = is_cmyk() ? JCS_CMYK : reads_grey(request.format) ? JCS_GRAYSCALE : JCS_EXT_RGBX;
    // Smoothing of unfinished progressive files looks at neighbours that a region may not have.
    info_.do_block_smoothing = FALSE;
    info_.scale_num = 1;
    info_.scale_denom = static_cast<unsigned>(request.scale_denominator);
    jpeg_start_decompress(&info_);
    const bool is_attached =
        window_ ? entropy_.attach_to_window(info_, *window_, scan_) : with_own_decoder && entropy_.attach(info_);
    if (window_ && !is_attached) return Outcome::kLeftToLibrary;
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
      errors_.set_message("region wider than its buffer");
      return Outcome::kFailed;
    }
    auto* out = reinterpret_cast<JSAMPLE*>(buffer.data());
    if (is_attached || jpeg_has_multiple_scans(&info_)) {
      if (region.y > 0) jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(region.y));
    } else {
      // jpeg_skip_scanlines() would not check for interruption.
      while (info_.output_scanline < static_cast<JDIMENSION>(region.y)) jpeg_read_scanlines(&info_, &out, 1);
    }
    for (int row = 0; row < region.height;) {
      JSAMPROW rows[kRowsAtOnce];
      const int count = std::min(kRowsAtOnce, region.height - row);
      for (int k = 0; k < count; ++k) rows[k] = out + stride * static_cast<std::size_t>(row + k);
      const JDIMENSION got = jpeg_read_scanlines(&info_, rows, static_cast<JDIMENSION>(count));
      if (got == 0) {
        errors_.set_message("no more rows");
        return Outcome::kFailed;
      }
      row += static_cast<int>(got);
    }
    if (window_ && !entropy_.finish_window(info_)) return Outcome::kLeftToLibrary;
    if (info_.output_scanline < info_.output_height || (window_ && !window_->has_last_mcu)) return Outcome::kDone;
    if (is_attached && !entropy_.finish(info_)) return Outcome::kLeftToLibrary;
    jpeg_finish_decompress(&info_);  // reads to the end marker
    return Outcome::kDone;
  }

  std::unexpected<Error> library_error() {
    jpeg_abort_decompress(&info_);
    return errors_.error();
  }

  Limits limits_;
  ConstBytes encoded_;
  JpegErrors errors_;
  jpeg_decompress_struct info_{};
  JpegEntropyDecoder entropy_;
  std::optional<JpegWindow> window_;      // what libjpeg sees in place of the image
  std::vector<std::byte> window_header_;  // its header
  ConstBytes scan_;                       // the data of the image's scan, and what follows
};

}  // namespace

std::unique_ptr<ImageCodec> make_jpeg_codec(const Limits& limits) {
  return std::make_unique<JpegCodec>(limits);
}

}  // namespace penstock
