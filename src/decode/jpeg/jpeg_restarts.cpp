#include "decode/jpeg/jpeg_restarts.h"

#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>

#include "decode/image/image_formats.h"
#include "decode/jpeg/jpeg_errors.h"
#include "decode/jpeg/jpeg_memory.h"

namespace penstock {
namespace {

constexpr int kSmallestScale = 8;
constexpr std::size_t kMostOutputRatio = 2;
constexpr std::size_t kOutputSlack = 4096;  // tables and markers, which count only in tiny files

// A shorter interval saves more of a row beside a crop, but costs about four bytes: the marker, the bits up to the next
// whole byte, and the first coefficients, which no longer differ from their neighbours'.
constexpr unsigned kUsualInterval = 4;
constexpr std::size_t kBytesPerRestart = 4;
constexpr std::size_t kMostRestartsShare = 125;  // of the file may be 1/200

unsigned parts_of(unsigned value, unsigned size) { return (value + size - 1) / size; }

struct Destination {
  jpeg_destination_mgr base;
  JpegErrors* errors;
  bool is_full;
};

class RestartRewriter {
 public:
  explicit RestartRewriter(const Limits& limits) : limits_(limits), errors_(limits) {
    source_.err = target_.err = written_.err = errors_.handler();
    jpeg_create_decompress(&source_);
    jpeg_create_compress(&target_);
    jpeg_create_decompress(&written_);
    source_.progress = target_.progress = written_.progress = errors_.progress();
    destination_.errors = &errors_;
    destination_.base.init_destination = [](j_compress_ptr) {};
    destination_.base.term_destination = [](j_compress_ptr) {};
    destination_.base.empty_output_buffer = [](j_compress_ptr info) -> boolean {
      auto* full = reinterpret_cast<Destination*>(info->dest);
      full->is_full = true;
      full->errors->set_message("it would become too large");
      std::longjmp(full->errors->escape, 1);
    };
  }
  RestartRewriter(const RestartRewriter&) = delete;
  ~RestartRewriter() {
    jpeg_destroy_decompress(&written_);
    jpeg_destroy_compress(&target_);
    jpeg_destroy_decompress(&source_);
  }

  Status open(ConstBytes encoded) {
    encoded_ = encoded;
    errors_.begin();
    if (encoded.empty() || !has_jpeg_end_marker(encoded)) return fail(ErrorCode::kTruncated, "truncated JPEG");
    if (!read_header()) return errors_.error();
    return check_image_size(source_.image_width, source_.image_height, limits_);
  }

  std::uint64_t working_bytes() {
    std::array<JpegSampling, MAX_COMPONENTS> sampling;
    const auto components = static_cast<std::size_t>(source_.num_components);
    for (std::size_t c = 0; c < components; ++c)
      sampling[c] = {source_.comp_info[c].h_samp_factor, source_.comp_info[c].v_samp_factor};
    const std::uint64_t libjpeg = jpeg_working_bytes(source_.image_width, source_.image_height,
                                                     std::span(sampling).first(components), true);
    const std::uint64_t kept_markers = encoded_.size();
    // The coefficients of the source, and of the result when it is checked.
    return 2 * libjpeg + kept_markers + largest_output() + checked_pixels().size_bytes;
  }

  Result<std::vector<std::byte>> rewrite() {
    PENSTOCK_CHECK(check_decodable());
    if (!read_coefficients()) return errors_.error();
    // Decoders keep their Huffman tables between images that share them, so the tables stay if that costs less than
    // 1 %.
    const bool may_keep_tables = !source_.progressive_mode && !source_.arith_code && source_.input_scan_number == 1;
    const bool is_done = (may_keep_tables && write(false, encoded_.size() + encoded_.size() / 100)) ||
                         (errors_.code() != ErrorCode::kStopped && write(true, largest_output()));
    if (errors_.code() == ErrorCode::kStopped) return errors_.error();
    if (!is_done)
      return fail(ErrorCode::kUnsupported,
                  fmt::format("a JPEG that cannot be rewritten ({})", errors_.error().error().message));
    return std::move(output_);
  }

 private:
  struct CheckedPixels {
    DecodeRequest request;
    std::size_t size_bytes;
  };

  std::size_t largest_output() const { return kMostOutputRatio * encoded_.size() + kOutputSlack; }

  // All pixels, at the smallest scale, because that decodes every coefficient and little else.
  CheckedPixels checked_pixels() const {
    const int width = static_cast<int>(source_.image_width), height = static_cast<int>(source_.image_height);
    const auto columns = static_cast<std::size_t>(width / kSmallestScale + 1);
    const auto rows = static_cast<std::size_t>(height / kSmallestScale + 1);
    return {{{0, 0, width, height}, PixelFormat::kRgbx, kSmallestScale}, 4 * columns * rows};
  }

  // The decoder's verdict counts, because it is stricter than libjpeg: rewriting must not make damage unnoticeable.
  Status check_decodable() {
    const auto codec = make_jpeg_codec(limits_);
    const auto header = codec->open(encoded_);
    if (!header) return std::unexpected(header.error());
    const CheckedPixels pixels = checked_pixels();
    std::vector<std::byte> buffer(std::max(pixels.size_bytes, codec->buffer_bytes(pixels.request)));
    const auto decoded = codec->decode(pixels.request, buffer);
    if (!decoded) return std::unexpected(decoded.error());
    return {};
  }

  // No object with a destructor may live in the four functions that setjmp can return to.
  bool read_header() {
    if (setjmp(errors_.escape) != 0) return false;
    jpeg_mem_src(&source_, reinterpret_cast<const unsigned char*>(encoded_.data()), encoded_.size());
    constexpr unsigned kWhole = 0xFFFF;
    jpeg_save_markers(&source_, JPEG_COM, kWhole);
    for (int n = 0; n < 16; ++n) jpeg_save_markers(&source_, JPEG_APP0 + n, kWhole);
    jpeg_read_header(&source_, TRUE);
    return true;
  }

  bool read_coefficients() {
    if (setjmp(errors_.escape) != 0) return false;
    coefficients_ = jpeg_read_coefficients(&source_);
    return true;
  }

  bool write(bool with_optimised_tables, std::size_t capacity) {
    output_ = {};  // two at once would be more than was reserved
    output_.resize(capacity);
    if (!write_to_output(with_optimised_tables)) return false;
    output_.resize(output_.size() - destination_.base.free_in_buffer);
    return has_same_coefficients();
  }

  bool write_to_output(bool with_optimised_tables) {
    if (setjmp(errors_.escape) != 0) {
      jpeg_abort_compress(&target_);
      return false;
    }
    destination_.base.next_output_byte = reinterpret_cast<JOCTET*>(output_.data());
    destination_.base.free_in_buffer = output_.size();
    target_.dest = &destination_.base;
    jpeg_copy_critical_parameters(&source_, &target_);
    target_.optimize_coding = with_optimised_tables ? TRUE : FALSE;
    if (!with_optimised_tables) copy_tables();
    target_.restart_interval = restart_interval();
    // All markers are those of the source, in their order and with thumbnails.
    target_.write_JFIF_header = FALSE;
    target_.write_Adobe_marker = FALSE;
    jpeg_write_coefficients(&target_, coefficients_);
    for (const jpeg_marker_struct* marker = source_.marker_list; marker != nullptr; marker = marker->next)
      jpeg_write_marker(&target_, marker->marker, marker->data, marker->data_length);
    jpeg_finish_compress(&target_);
    return true;
  }

  // libjpeg-turbo does not notice where a table has no code for what it writes. Restarts need codes that optimised
  // tables of the source may lack.
  bool has_same_coefficients() {
    if (setjmp(errors_.escape) != 0) {
      jpeg_abort_decompress(&written_);
      return false;
    }
    errors_.begin();
    jpeg_mem_src(&written_, reinterpret_cast<const unsigned char*>(output_.data()), output_.size());
    jpeg_read_header(&written_, TRUE);
    jvirt_barray_ptr* const written = jpeg_read_coefficients(&written_);
    bool is_same = written_.num_components == source_.num_components;
    for (int c = 0; c < source_.num_components && is_same; ++c) {
      const jpeg_component_info& component = source_.comp_info[c];
      for (JDIMENSION row = 0; row < component.height_in_blocks && is_same; ++row)
        is_same = std::memcmp(row_of(source_, coefficients_[c], row), row_of(written_, written[c], row),
                              component.width_in_blocks * sizeof(JBLOCK)) == 0;
    }
    if (!is_same) errors_.set_message("its coefficients would change");
    jpeg_abort_decompress(&written_);
    return is_same;
  }

  static const JBLOCK* row_of(jpeg_decompress_struct& info, jvirt_barray_ptr coefficients, JDIMENSION row) {
    return (*info.mem->access_virt_barray)(reinterpret_cast<j_common_ptr>(&info), coefficients, row, 1, FALSE)[0];
  }

  void copy_tables() {
    const auto copy = [this](const JHUFF_TBL* from, JHUFF_TBL*& to) {
      if (from == nullptr) return;
      if (to == nullptr) to = jpeg_alloc_huff_table(reinterpret_cast<j_common_ptr>(&target_));
      std::copy(std::begin(from->bits), std::end(from->bits), to->bits);
      std::copy(std::begin(from->huffval), std::end(from->huffval), to->huffval);
    };
    for (int n = 0; n < NUM_HUFF_TBLS; ++n) {
      copy(source_.dc_huff_tbl_ptrs[n], target_.dc_huff_tbl_ptrs[n]);
      copy(source_.ac_huff_tbl_ptrs[n], target_.ac_huff_tbl_ptrs[n]);
    }
    for (int c = 0; c < source_.num_components; ++c) {
      target_.comp_info[c].dc_tbl_no = source_.comp_info[c].dc_tbl_no;
      target_.comp_info[c].ac_tbl_no = source_.comp_info[c].ac_tbl_no;
    }
  }

  unsigned restart_interval() const {
    const bool is_grey = source_.num_components == 1;
    const auto side = [&](int factor) { return static_cast<unsigned>(DCTSIZE * (is_grey ? 1 : factor)); };
    const unsigned columns = parts_of(source_.image_width, side(source_.max_h_samp_factor));
    const unsigned rows = parts_of(source_.image_height, side(source_.max_v_samp_factor));
    const std::size_t affordable = encoded_.size() / kMostRestartsShare / kBytesPerRestart / rows;
    const auto per_row = static_cast<unsigned>(
        std::clamp<std::size_t>(affordable, 1, parts_of(columns, kUsualInterval)));
    return parts_of(columns, per_row);
  }

  const Limits limits_;
  ConstBytes encoded_;
  JpegErrors errors_;
  jpeg_decompress_struct source_{};
  jpeg_compress_struct target_{};
  jpeg_decompress_struct written_{};  // what target_ has written
  jvirt_barray_ptr* coefficients_ = nullptr;
  Destination destination_{};
  std::vector<std::byte> output_;
};

}  // namespace

Result<std::uint64_t> restart_rewriting_bytes(ConstBytes encoded, const Limits& limits) {
  const auto rewriter = std::make_unique<RestartRewriter>(limits);
  PENSTOCK_CHECK(rewriter->open(encoded));
  return rewriter->working_bytes();
}

Result<std::vector<std::byte>> rewrite_with_restarts(ConstBytes encoded, const Limits& limits) {
  const auto rewriter = std::make_unique<RestartRewriter>(limits);
  PENSTOCK_CHECK(rewriter->open(encoded));
  return rewriter->rewrite();
}

}  // namespace penstock
