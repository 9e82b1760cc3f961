// The one EXIF tag that matters for training: which way up the picture is.
#pragma once

#include "base/bytes.h"

namespace penstock {

// 1-8 as EXIF counts; 1 (upright) where there is no EXIF block or it makes no sense.
int exif_orientation(ConstBytes jpeg);

}  // namespace penstock
