#include "decode/jpeg/jpeg_errors.h"

#include <jerror.h>  // knows all messages only after jpeglib.h

#include <fmt/format.h>

#include <algorithm>

#include "decode/image/exif.h"
#include "decode/interrupted.h"

namespace penstock {
namespace {

// Bounds the work of a malicious file. A scan visits all blocks of its components, even if it has no data for
// them. A usual file has about ten scans; 32 visits per block are enough even for one bit per coefficient and
// scan.
constexpr std::uint64_t kMaxVisitsPerBlock = 32;
constexpr std::uint64_t kFreeVisits = 1 << 21;  // allowed to any file: the work of a fraction of a second

std::uint64_t blocks_of(const jpeg_component_info& component) {
  return std::uint64_t{component.width_in_blocks} * component.height_in_blocks;
}

}  // namespace

jpeg_error_mgr* JpegErrors::handler() {
  jpeg_std_error(&handler_.base);
  handler_.owner = this;
  handler_.base.error_exit = leave;
  handler_.base.emit_message = on_message;
  progress_.progress_monitor = on_progress;
  return &handler_.base;
}

void JpegErrors::begin() {
  code_ = ErrorCode::kCorrupt;
  scans_ = 0;
  visits_ = 0;
}

std::unexpected<Error> JpegErrors::error() const {
  if (code_ == ErrorCode::kStopped) return fail(code_, message_);
  return fail(code_, fmt::format("{} JPEG ({})", code_ == ErrorCode::kTruncated ? "truncated" : "bad", message_));
}

JpegErrors& JpegErrors::of(j_common_ptr info) { return *reinterpret_cast<Handler*>(info->err)->owner; }

void JpegErrors::leave(j_common_ptr info) {
  JpegErrors& errors = of(info);
  (*errors.handler_.base.format_message)(info, errors.message_);
  std::longjmp(errors.escape, 1);
}

void JpegErrors::on_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  const int warning = info->err->msg_code;
  if (warning == JWRN_JPEG_EOF || warning == JWRN_HIT_MARKER) of(info).code_ = ErrorCode::kTruncated;
  leave(info);
}

// Called for each row of blocks of each scan, and for each few rows of pixels.
void JpegErrors::on_progress(j_common_ptr info) {
  JpegErrors& errors = of(info);
  if (Interruption::is_requested()) {
    errors.code_ = ErrorCode::kStopped;
    errors.set_message(kDecodingInterrupted);
    std::longjmp(errors.escape, 1);
  }
  if (info->is_decompressor == FALSE) return;
  const auto* image = reinterpret_cast<j_decompress_ptr>(info);
  if (image->input_scan_number <= errors.scans_) return;
  errors.scans_ = image->input_scan_number;
  std::uint64_t blocks = 0;
  for (int c = 0; c < image->num_components; ++c) blocks += blocks_of(image->comp_info[c]);
  for (int c = 0; c < image->comps_in_scan; ++c) errors.visits_ += blocks_of(*image->cur_comp_info[c]);
  if (errors.scans_ <= errors.scan_limit_ &&
      errors.visits_ <= std::max(kFreeVisits, kMaxVisitsPerBlock * blocks))
    return;
  std::snprintf(errors.message_, sizeof errors.message_, "it has too many scans for %ux%u pixels",
                image->image_width, image->image_height);
  std::longjmp(errors.escape, 1);
}

// The search begins at the scan, because a thumbnail before it may have an end marker of its own.
bool has_jpeg_end_marker(ConstBytes encoded) {
  const std::size_t scan = jpeg_scan_offset(encoded);
  for (std::size_t at = encoded.size() - 1; at-- > scan;)
    if (encoded[at] == std::byte{0xFF} && encoded[at + 1] == std::byte{0xD9}) return true;
  return false;
}

}  // namespace penstock
