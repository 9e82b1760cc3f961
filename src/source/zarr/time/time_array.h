// An array of times as int64 nanoseconds since 1970, which is what numpy.datetime64[ns] holds.
#pragma once

#include "source/chunked_array.h"
#include "source/zarr/time/time_coding.h"

namespace penstock {

// Wraps `array`: its chunks are the same with every time decoded, where missing times are NaT. Fails if datetime64
// does not have the calendar. A time outside the range of nanoseconds is an error of its chunk.
Result<ChunkedArrayPtr> make_time_array(ChunkedArrayPtr array, const TimeCoding& coding);

}  // namespace penstock
