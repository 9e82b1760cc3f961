// Reads the axes that the pages of a TIFF file form, which ImageJ, OME-XML and tifffile write into the
// description of the first page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "decode/tiff/tiff_directory.h"
#include "penstock/result.h"

namespace penstock {

struct TiffAxis {
  char name = 'Z';  // Z, C, T, or Q if it has no name
  std::uint64_t size = 0;
  bool operator==(const TiffAxis&) const = default;
};

struct TiffPageAxes {
  std::vector<TiffAxis> axes;  // the slowest first; empty if the file does not say
  std::string told_by;         // "ImageJ's description", for messages
  std::string problem;         // why the pages cannot be taken in the order of the file; empty: they can
  bool several_files = false;  // the volume is spread over several files

  std::uint64_t pages() const;     // 1 without axes; UINT64_MAX if the product is too large
  std::string describe() const;    // "T 3 x Z 10 x C 2"
  bool operator==(const TiffPageAxes&) const = default;
};

// Axes of size 1 are left out, as in tifffile, unless tifffile wrote the shape. This function checks the
// sizes of a page; the caller must check that the axes agree with the number of pages.
Result<TiffPageAxes> read_tiff_axes(const TiffDirectories& directories, const std::string& uri);

}  // namespace penstock
