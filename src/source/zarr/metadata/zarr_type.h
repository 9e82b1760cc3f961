// The element types of Zarr, by their names in versions 2 (NumPy's) and 3.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "decode/codec/codec_chain.h"
#include "source/zarr/metadata/zarr_json.h"

namespace penstock {

struct ZarrType {
  StoredType stored;
  std::optional<std::string> time_unit;  // datetime64 and timedelta64, which are int64: "ns", "10s"
  bool is_duration = false;              // timedelta64
};

// "<f4", "|b1", "M8[ns]", also without byte order ("i4", little-endian) and by name ("float32").
std::optional<ZarrType> numpy_type(std::string_view text);

// `dtype` of .zarray.
Result<ZarrType> read_v2_type(const Json* dtype, const std::string& uri);
// `data_type` of zarr.json: the byte order is the business of its codecs.
Result<ZarrType> read_v3_type(const Json* data_type, const std::string& uri);

}  // namespace penstock
