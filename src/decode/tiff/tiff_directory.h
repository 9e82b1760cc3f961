// Reads the directories of a TIFF or BigTIFF file: the layout of its pages, and the offsets of their strips
// or tiles.
//
// A file whose pages differ in layout is refused. So are directories that form a loop or overlap: together
// they are no longer than the file, which bounds the time and memory that a malicious file can cost.
#pragma once

#include <string>
#include <vector>

#include "penstock/array.h"
#include "store/store.h"

namespace penstock {

// The numbers are TIFF's.
enum class TiffCompression : std::uint16_t {
  kNone = 1,
  kLzw = 5,
  kAdobeDeflate = 8,
  kPackBits = 32773,
  kDeflate = 32946,
  kZstd = 50000,
};

// The layout that all pages share.
struct TiffLayout {
  std::uint32_t width = 0, height = 0;  // of a page
  std::uint32_t samples = 1;            // per pixel, interleaved
  DType dtype = DType::kUInt8;
  TiffCompression compression = TiffCompression::kNone;
  std::uint16_t predictor = 1;
  bool big_endian = false;
  bool tiled = false;
  // Strips are as wide as the page, and the last one may have fewer rows; tiles are always whole.
  std::uint32_t segment_width = 0, segment_rows = 0;

  std::uint64_t segments_across() const { return (width + std::uint64_t{segment_width} - 1) / segment_width; }
  std::uint64_t segments_down() const { return (height + std::uint64_t{segment_rows} - 1) / segment_rows; }
  std::uint64_t segments_per_page() const { return segments_across() * segments_down(); }
  std::uint32_t rows_of(std::uint64_t segment_of_page) const;
  std::uint64_t page_row_bytes() const { return std::uint64_t{width} * samples * size_of(dtype); }
  std::uint64_t row_bytes() const { return std::uint64_t{segment_width} * samples * size_of(dtype); }
  bool operator==(const TiffLayout&) const = default;
};

struct TiffSegment {
  std::uint64_t offset = 0, bytes = 0;  // 0 bytes: it is not stored, and its elements are 0
};

struct TiffDirectories {
  TiffLayout layout;
  std::uint64_t pages = 0;
  std::vector<TiffSegment> segments;  // by page, then in the order of the page
  std::string description;            // of the first page; at most its first 4 MiB
};

// Returns the pages in the order of the file, without reduced copies (thumbnails, levels of a pyramid) and
// masks. It also returns all pages of a stack that ImageJ wrote with a single directory. Every segment lies
// within the file and has a plausible length. `uri` appears in errors.
Result<TiffDirectories> read_tiff_directories(Object& object, const std::string& uri);

}  // namespace penstock
