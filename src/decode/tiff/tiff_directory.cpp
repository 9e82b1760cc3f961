#include "decode/tiff/tiff_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <unordered_set>

#include "base/checked_math.h"
#include "decode/tiff/tiff_reader.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxPages = 1'000'000;
constexpr std::uint64_t kMaxSegments = std::uint64_t{1} << 25;  // their offsets take half a GiB
constexpr std::uint64_t kMaxVolumeBytes = std::uint64_t{1} << 62;
constexpr std::uint64_t kMaxDescriptionBytes = 4 << 20;  // OME-XML has a line for every plane
constexpr std::uint64_t kFirstDataByte = 8;  // the header comes before it

enum Tag : std::uint16_t {
  kSubfileType = 254,
  kWidth = 256,
  kHeight = 257,
  kBitsPerSample = 258,
  kCompression = 259,
  kPhotometric = 262,
  kFillOrder = 266,
  kDescription = 270,
  kStripOffsets = 273,
  kSamplesPerPixel = 277,
  kRowsPerStrip = 278,
  kStripBytes = 279,
  kPlanarConfig = 284,
  kPredictor = 317,
  kTileWidth = 322,
  kTileRows = 323,
  kTileOffsets = 324,
  kTileBytes = 325,
  kSampleFormat = 339,
};
constexpr std::array kTags = {kSubfileType,  kWidth,       kHeight,       kBitsPerSample, kCompression,
                              kPhotometric,  kFillOrder,   kDescription,  kStripOffsets,  kSamplesPerPixel,
                              kRowsPerStrip, kStripBytes,  kPlanarConfig, kPredictor,     kTileWidth,
                              kTileRows,     kTileOffsets, kTileBytes,    kSampleFormat};

std::string_view name_of_compression(std::uint64_t compression) {
  switch (compression) {
    case 2:
    case 3:
    case 4: return "CCITT fax";
    case 6:
    case 7:
    case 33007:
    case 34892: return "JPEG";
    case 33003:
    case 33005:
    case 34712: return "JPEG 2000";
    case 34887: return "LERC";
    case 34925: return "LZMA";
    case 34927:
    case 50001: return "WebP";
    default: return "unknown";
  }
}

bool is_read(std::uint64_t compression) {
  for (const auto known : {TiffCompression::kNone, TiffCompression::kLzw, TiffCompression::kAdobeDeflate,
                           TiffCompression::kPackBits, TiffCompression::kDeflate, TiffCompression::kZstd})
    if (compression == static_cast<std::uint64_t>(known)) return true;
  return false;
}

std::optional<DType> dtype_of(std::uint64_t format, std::uint64_t bits) {
  switch (format << 8 | bits) {
    case 1 << 8 | 8:
    case 4 << 8 | 8: return DType::kUInt8;
    case 1 << 8 | 16:
    case 4 << 8 | 16: return DType::kUInt16;
    case 1 << 8 | 32:
    case 4 << 8 | 32: return DType::kUInt32;
    case 1 << 8 | 64:
    case 4 << 8 | 64: return DType::kUInt64;
    case 2 << 8 | 8: return DType::kInt8;
    case 2 << 8 | 16: return DType::kInt16;
    case 2 << 8 | 32: return DType::kInt32;
    case 2 << 8 | 64: return DType::kInt64;
    case 3 << 8 | 16: return DType::kFloat16;
    case 3 << 8 | 32: return DType::kFloat32;
    case 3 << 8 | 64: return DType::kFloat64;
    default: return std::nullopt;
  }
}

class Parser {
 public:
  Parser(Object& object, const std::string& uri) : reader_(object, uri) {}

  Result<TiffDirectories> run() {
    const auto first = reader_.read_header();
    if (!first) return std::unexpected(first.error());
    std::unordered_set<std::uint64_t> seen;
    for (at_ = *first; at_ != 0;) {
      if (!seen.insert(at_).second) return bad("the TIFF directories form a loop");
      if (seen.size() > kMaxPages)
        return error(ErrorCode::kTooLarge, fmt::format("more than {} TIFF directories", kMaxPages));
      const auto next = read_page();
      if (!next) return std::unexpected(next.error());
      at_ = *next;
    }
    if (out_.pages == 0) return error(ErrorCode::kNotFound, "the TIFF file has no pages");
    at_ = *first;
    const auto page_bytes = checked_multiply(out_.layout.page_row_bytes(), std::uint64_t{out_.layout.height});
    if (!page_bytes || *page_bytes > kMaxVolumeBytes / out_.pages)
      return error(ErrorCode::kTooLarge, "the TIFF pages are too large");
    if (seen.size() == 1) PENSTOCK_CHECK(unfold_stack(*page_bytes));
    return std::move(out_);
  }

 private:
  std::unexpected<Error> error(ErrorCode code, std::string message) const {
    return reader_.error(code, std::move(message), at_);
  }
  std::unexpected<Error> bad(std::string message) const {
    return error(ErrorCode::kCorrupt, std::move(message));
  }
  std::unexpected<Error> unsupported(std::string message) const {
    return error(ErrorCode::kUnsupported, std::move(message));
  }

  // Directories that overlap would let a small file cost more memory than its own size.
  Status take(std::uint64_t bytes) {
    if (bytes > reader_.file_bytes() - directory_bytes_)
      return bad("the TIFF directories are longer than the file");
    directory_bytes_ += bytes;
    return {};
  }

  Result<std::uint64_t> read_page() {
    const auto directory = reader_.directory(at_);
    if (!directory) return std::unexpected(directory.error());
    PENSTOCK_CHECK(take(directory->bytes));
    entries_ = {};
    for (std::uint64_t i = 0; i < directory->entries; ++i) {
      const auto entry = reader_.entry(*directory, i);
      if (!entry) return std::unexpected(entry.error());
      const auto known = std::ranges::find(kTags, entry->tag);
      if (known == kTags.end()) continue;
      TiffEntry& place = entries_[static_cast<std::size_t>(known - kTags.begin())];
      if (place.tag != 0) return bad(fmt::format("TIFF tag {} occurs twice in a directory", entry->tag));
      place = *entry;
    }
    const auto kind = number(kSubfileType, 0);
    if (!kind) return kind;
    if ((*kind & 5) == 0) {
      const auto layout = read_layout();
      if (!layout) return std::unexpected(layout.error());
      if (out_.pages > 0 && *layout != out_.layout)
        return bad(fmt::format("page {} differs from the first in size, type or layout", out_.pages));
      out_.layout = *layout;
      PENSTOCK_CHECK(read_segments());
      if (out_.pages == 0 && has(kDescription)) {
        auto text = reader_.text(tag(kDescription), kMaxDescriptionBytes);
        if (!text) return std::unexpected(text.error());
        out_.description = std::move(*text);
      }
      ++out_.pages;
    }
    return directory->next;
  }

  const TiffEntry& tag(Tag wanted) const {
    return entries_[static_cast<std::size_t>(std::ranges::find(kTags, wanted) - kTags.begin())];
  }
  bool has(Tag wanted) const { return tag(wanted).tag != 0; }

  Result<std::uint64_t> number(Tag wanted, std::uint64_t otherwise) {
    return has(wanted) ? reader_.value(tag(wanted), 0) : otherwise;
  }
  // A number from 1 to a limit whose products fit into an int64.
  Result<std::uint32_t> extent(Tag wanted, std::uint64_t otherwise) {
    const auto value = number(wanted, otherwise);
    if (!value) return std::unexpected(value.error());
    if (*value == 0 || *value > UINT32_MAX)
      return bad(fmt::format("TIFF tag {} is {}", static_cast<int>(wanted), *value));
    return static_cast<std::uint32_t>(*value);
  }
  // A number that must be the same for every sample of a pixel.
  Result<std::uint64_t> common(Tag wanted, std::uint64_t otherwise) {
    const auto value = number(wanted, otherwise);
    if (!value || !has(wanted)) return value;
    PENSTOCK_CHECK(take(tag(wanted).table_bytes));
    for (std::uint64_t i = 1; i < tag(wanted).count; ++i) {
      const auto other = reader_.value(tag(wanted), i);
      if (!other) return other;
      if (*other != *value) return unsupported("a TIFF whose channels are of different types");
    }
    return value;
  }

  Result<TiffLayout> read_layout() {
    TiffLayout layout;
    layout.big_endian = reader_.big_endian();
    const auto width = extent(kWidth, 0), height = extent(kHeight, 0), samples = extent(kSamplesPerPixel, 1);
    for (const auto& part : {width, height, samples})
      if (!part) return std::unexpected(part.error());
    layout.width = *width;
    layout.height = *height;
    layout.samples = *samples;
    if (layout.samples > 65'535) return bad(fmt::format("{} samples a pixel", layout.samples));
    PENSTOCK_CHECK(read_type(layout));
    PENSTOCK_CHECK(read_coding(layout));
    layout.tiled = has(kTileOffsets) || has(kTileWidth);
    const auto across = layout.tiled ? extent(kTileWidth, 0) : width;
    const auto down = layout.tiled ? extent(kTileRows, 0) : extent(kRowsPerStrip, UINT32_MAX);
    if (!across) return std::unexpected(across.error());
    if (!down) return std::unexpected(down.error());
    layout.segment_width = *across;
    layout.segment_rows = layout.tiled ? *down : std::min(*down, *height);
    return layout;
  }

  Status read_type(TiffLayout& layout) {
    const auto bits = common(kBitsPerSample, 1), format = common(kSampleFormat, 1);
    const auto photometric = number(kPhotometric, 1), planar = number(kPlanarConfig, 1);
    for (const auto& part : {bits, format, photometric, planar})
      if (!part) return std::unexpected(part.error());
    if (*photometric == 3) return unsupported("a TIFF with a palette");
    if (*photometric == 6 || *photometric == 32844 || *photometric == 32845)
      return unsupported("a TIFF in YCbCr or LogLuv");
    if (*bits == 1) return unsupported("a bilevel TIFF (1 bit a sample)");
    const auto dtype = *bits <= 64 && *format <= 4 ? dtype_of(*format, *bits) : std::nullopt;
    if (!dtype) return unsupported(fmt::format("a TIFF with {} bits a sample of format {}", *bits, *format));
    layout.dtype = *dtype;
    if (layout.samples > 1 && *planar != 1)
      return unsupported("a TIFF whose channels are stored apart (planar configuration 2)");
    return {};
  }

  Status read_coding(TiffLayout& layout) {
    const auto compression = number(kCompression, 1), predictor = number(kPredictor, 1),
               fill_order = number(kFillOrder, 1);
    for (const auto& part : {compression, predictor, fill_order})
      if (!part) return std::unexpected(part.error());
    if (!is_read(*compression))
      return unsupported(
          fmt::format("TIFF compression {} ({})", *compression, name_of_compression(*compression)));
    layout.compression = static_cast<TiffCompression>(*compression);
    if (*fill_order != 1) return unsupported("a TIFF whose bits are in reverse order (fill order 2)");
    const bool is_float =
        layout.dtype == DType::kFloat16 || layout.dtype == DType::kFloat32 || layout.dtype == DType::kFloat64;
    const bool can_predict =
        layout.compression != TiffCompression::kNone && layout.compression != TiffCompression::kPackBits;
    if (*predictor != 1 &&
        (!can_predict || *predictor > 3 || *predictor == 0 || (*predictor == 3 && !is_float)))
      return unsupported(fmt::format("TIFF predictor {} with compression {} of {}", *predictor, *compression,
                                     penstock::name_of(layout.dtype)));
    layout.predictor = static_cast<std::uint16_t>(*predictor);
    return {};
  }

  Status read_segments() {
    const TiffLayout& layout = out_.layout;
    const Tag offsets_tag = layout.tiled ? kTileOffsets : kStripOffsets;
    const Tag bytes_tag = layout.tiled ? kTileBytes : kStripBytes;
    const TiffEntry offsets = tag(offsets_tag), bytes = tag(bytes_tag);
    const auto count = checked_multiply(layout.segments_across(), layout.segments_down());
    if (!count || offsets.count != *count || bytes.count != *count)
      return bad(fmt::format("{} offsets and {} byte counts for {} x {} {} of a TIFF page", offsets.count,
                             bytes.count, layout.segments_down(), layout.segments_across(),
                             layout.tiled ? "tiles" : "strips"));
    PENSTOCK_CHECK(take(offsets.table_bytes));
    PENSTOCK_CHECK(take(bytes.table_bytes));
    if (*count > kMaxSegments - out_.segments.size())
      return error(ErrorCode::kTooLarge, fmt::format("more than {} strips or tiles", kMaxSegments));
    // Checks, before memory is allocated, that the entries are numbers; then their tables have the stated
    // size.
    PENSTOCK_CHECK(reader_.value(offsets, 0));
    PENSTOCK_CHECK(reader_.value(bytes, 0));
    // One table after the other, because both are read through one window.
    const std::size_t first = out_.segments.size();
    out_.segments.resize(first + *count);
    for (std::uint64_t i = 0; i < *count; ++i) {
      const auto offset = reader_.value(offsets, i);
      if (!offset) return std::unexpected(offset.error());
      out_.segments[first + i].offset = *offset;
    }
    for (std::uint64_t i = 0; i < *count; ++i) {
      const auto length = reader_.value(bytes, i);
      if (!length) return std::unexpected(length.error());
      out_.segments[first + i].bytes = *length;
      PENSTOCK_CHECK(check_segment(out_.segments[first + i], i));
    }
    return {};
  }

  Status check_segment(const TiffSegment& segment, std::uint64_t number_of_segment) const {
    if (segment.bytes == 0) return {};
    const TiffLayout& layout = out_.layout;
    const std::string name =
        fmt::format("{} {} of page {}", layout.tiled ? "tile" : "strip", number_of_segment, out_.pages);
    const auto wrong = [&](ErrorCode code, std::string_view what) {
      return reader_.error(code, fmt::format("{} {}", name, what), segment.offset, segment.bytes);
    };
    if (segment.offset < kFirstDataByte) return wrong(ErrorCode::kCorrupt, "lies in the header");
    if (segment.offset > reader_.file_bytes() || segment.bytes > reader_.file_bytes() - segment.offset)
      return wrong(ErrorCode::kTruncated, "lies beyond the end of the file");
    const auto whole = checked_multiply(layout.row_bytes(), std::uint64_t{layout.segment_rows});
    if (!whole || *whole > kMaxVolumeBytes) return wrong(ErrorCode::kTooLarge, "is too large");
    const std::uint64_t decoded = layout.row_bytes() * layout.rows_of(number_of_segment);
    if (layout.compression == TiffCompression::kNone) {
      // Some writers pad the last strip.
      if (segment.bytes < decoded)
        return wrong(ErrorCode::kTruncated, fmt::format("has not its {} bytes", decoded));
      if (segment.bytes > *whole)
        return wrong(ErrorCode::kCorrupt, fmt::format("has more than its {} bytes", *whole));
    } else if (segment.bytes > 2 * *whole + 4096) {  // in the worst case, LZW writes 12 bits per byte
      return wrong(ErrorCode::kCorrupt, fmt::format("has more bytes than {} could become", *whole));
    }
    return {};
  }

  // ImageJ writes only the first directory of a stack, and then all pages one after another; its description
  // says so. tifffile can do the same.
  Status unfold_stack(std::uint64_t page_bytes) {
    if (out_.description.contains("\"truncated\": true"))
      return unsupported("a TIFF of tifffile's with one directory for all pages (truncate=True)");
    if (!out_.description.starts_with("ImageJ=")) return {};
    constexpr std::string_view kCount = "\nimages=";
    const auto found = out_.description.find(kCount);
    std::uint64_t images = 1;
    if (found != std::string::npos)
      std::from_chars(out_.description.data() + found + kCount.size(),
                      out_.description.data() + out_.description.size(), images);
    if (images <= 1) return {};
    const TiffLayout& layout = out_.layout;
    if (layout.compression != TiffCompression::kNone || layout.tiled)
      return bad(fmt::format("ImageJ's description promises {} images, the file has one", images));
    std::uint64_t first = out_.segments[0].offset, end = first;
    for (std::uint64_t i = 0; i < out_.segments.size(); ++i) {
      TiffSegment& strip = out_.segments[i];
      if (strip.bytes == 0 || strip.offset != end)
        return bad("the strips of ImageJ's stack do not follow one another");
      strip.bytes = layout.row_bytes() * layout.rows_of(i);
      end += strip.bytes;
    }
    if (images > (reader_.file_bytes() - first) / page_bytes)
      return error(ErrorCode::kTruncated,
                   fmt::format("ImageJ's description promises {} images of {} bytes, the file has {} bytes",
                               images, page_bytes, reader_.file_bytes()));
    const std::size_t strips = out_.segments.size();
    if (images > kMaxPages || images * strips > kMaxSegments)
      return error(ErrorCode::kTooLarge, fmt::format("{} images of {} strips", images, strips));
    out_.segments.reserve(images * strips);
    for (std::uint64_t i = strips; i < images * strips; ++i)
      out_.segments.push_back(
          {out_.segments[i - strips].offset + page_bytes, out_.segments[i - strips].bytes});
    out_.pages = images;
    return {};
  }

  TiffReader reader_;
  TiffDirectories out_;
  std::uint64_t at_ = 0;               // offset of the current directory
  std::uint64_t directory_bytes_ = 0;  // size of all directories so far
  std::array<TiffEntry, kTags.size()> entries_;
};

}  // namespace

std::uint32_t TiffLayout::rows_of(std::uint64_t segment_of_page) const {
  if (tiled) return segment_rows;
  const std::uint64_t first = segment_of_page * segment_rows;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(segment_rows, height - first));
}

Result<TiffDirectories> read_tiff_directories(Object& object, const std::string& uri) {
  return Parser(object, uri).run();
}

}  // namespace penstock
