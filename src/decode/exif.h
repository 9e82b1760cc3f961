// What stands before the scan of a JPEG: the EXIF tag that matters for training (which way up the
// picture is), and where the scan begins.
#pragma once

#include "base/bytes.h"

namespace penstock {

// 1-8 as EXIF counts; 1 (upright) where there is no EXIF block or it makes no sense.
int exif_orientation(ConstBytes jpeg);

// Where the first scan begins, or where the segments before it stop making sense.
std::size_t jpeg_scan_offset(ConstBytes jpeg);

}  // namespace penstock
