// The element types of Zarr by their names in version 2 (those of NumPy) and version 3.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "decode/codec/codec_chain.h"
#include "source/zarr/metadata/zarr_json.h"

namespace penstock {

struct ZarrType {
  StoredType stored;
  std::optional<std::string> time_unit;  // of datetime64 and timedelta64, which become int64: "ns", "10s"
  bool is_duration = false;              // timedelta64
};

// Parses "<f4", "|b1", "M8[ns]", also without byte order ("i4", little-endian) or by name ("float32").
std::optional<ZarrType> numpy_type(std::string_view text);

// Parses `dtype` of .zarray.
Result<ZarrType> read_v2_type(const Json* dtype, const std::string& uri);
// Parses `data_type` of zarr.json, whose byte order is given by its codecs.
Result<ZarrType> read_v3_type(const Json* data_type, const std::string& uri);

}  // namespace penstock
