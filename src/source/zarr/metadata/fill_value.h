// The value of elements that are not stored.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "source/zarr/metadata/zarr_json.h"

namespace penstock {

// One element in native byte order.
struct FillValue {
  std::array<std::byte, 16> bytes{};
};

// A JSON null means zero in version 2 and is an error in version 3.
Result<FillValue> read_fill_value(const Json* value, DType dtype, int zarr_version, const std::string& uri);

// The fill value as a number; nullopt if there is none, or if it is complex.
std::optional<double> fill_value_number(const Json* value, const FillValue& fill, DType dtype);

// Fills `out` with the element, in the other byte order if `swap_bytes`.
void fill_elements(const FillValue& value, DType dtype, bool swap_bytes, MutableBytes out);

}  // namespace penstock
