// An array of times as int64 nanoseconds since 1970, which is what numpy.datetime64[ns] holds.
#pragma once

#include "source/chunked_array.h"
#include "source/zarr/time/time_coding.h"

namespace penstock {

// The array whose chunks are those of `array` with every time decoded; missing times are NaT. Fails where the
// calendar is none that datetime64 has. A time that nanoseconds cannot hold is an error of its chunk.
Result<ChunkedArrayPtr> make_time_array(ChunkedArrayPtr array, const TimeCoding& coding);

}  // namespace penstock
