// Which way up a picture is, by the EXIF block that cameras write; and where the scan of a JPEG begins.
#pragma once

#include "base/bytes.h"

namespace penstock {

// The orientation in an EXIF block (a small TIFF file, with or without the "Exif" that JPEG puts in
// front of it): 1-8 as EXIF counts. A damaged block, or one without that tag, means 1 (upright).
int orientation_in_exif(ConstBytes block);

// The same of the EXIF segment of a whole JPEG.
int exif_orientation(ConstBytes jpeg);

// Where the first scan begins, or where the segments before it stop making sense.
std::size_t jpeg_scan_offset(ConstBytes jpeg);

}  // namespace penstock
