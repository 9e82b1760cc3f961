// What elements are where nothing is stored.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "source/zarr/metadata/zarr_json.h"

namespace penstock {

// One element, in this machine's byte order.
struct FillValue {
  std::array<std::byte, 16> bytes{};
};

// Null is zero in version 2, and an error in version 3.
Result<FillValue> read_fill_value(const Json* value, DType dtype, int zarr_version, const std::string& uri);

// As a number; nothing where there is none, or where it is more than one (complex).
std::optional<double> fill_value_number(const Json* value, const FillValue& fill, DType dtype);

// As many elements as `out` has; with the other byte order where `swap_bytes`.
void fill_elements(const FillValue& value, DType dtype, bool swap_bytes, MutableBytes out);

}  // namespace penstock
