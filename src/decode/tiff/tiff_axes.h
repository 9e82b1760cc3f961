// The axes that the pages of a TIFF file make up, as ImageJ, OME-XML and tifffile write them into the
// description of the first page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "decode/tiff/tiff_directory.h"
#include "penstock/result.h"

namespace penstock {

struct TiffAxis {
  char name = 'Z';  // Z, C, T, or Q where it has no name
  std::uint64_t size = 0;
  bool operator==(const TiffAxis&) const = default;
};

struct TiffPageAxes {
  std::vector<TiffAxis> axes;  // the slowest first; empty: the file does not say
  std::string told_by;         // "ImageJ's description", for messages
  std::string problem;         // why the pages cannot be taken in the order of the file; empty: they can
  bool several_files = false;  // what they make up is stored in several files

  std::uint64_t pages() const;     // 1 where there are no axes; UINT64_MAX where that is too large
  std::string describe() const;    // "T 3 x Z 10 x C 2"
  bool operator==(const TiffPageAxes&) const = default;
};

// Axes of one entry are left out, as tifffile does, except where tifffile wrote the shape. Whether the sizes
// agree with the number of pages is for the caller to check; the sizes of a page are checked here.
Result<TiffPageAxes> read_tiff_axes(const TiffDirectories& directories, const std::string& uri);

}  // namespace penstock
