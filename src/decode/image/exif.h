// Reads the orientation of a picture from its EXIF block, and finds the first scan of a JPEG.
#pragma once

#include "base/bytes.h"

namespace penstock {

// The orientation in an EXIF block (a small TIFF file, with or without the "Exif" that JPEG puts in
// front of it): 1-8 as EXIF counts. A damaged block, or one without that tag, means 1 (upright).
int orientation_in_exif(ConstBytes block);

// The orientation in the EXIF segment of a whole JPEG.
int exif_orientation(ConstBytes jpeg);

// The offset of the first scan, or of the first invalid segment before it.
std::size_t jpeg_scan_offset(ConstBytes jpeg);

}  // namespace penstock
