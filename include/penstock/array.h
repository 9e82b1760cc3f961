// What an array is: element type and shape. The words are NumPy's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace penstock {

enum class DType : std::uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kUInt16,
  kInt16,
  kUInt32,
  kInt32,
  kUInt64,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
};

std::size_t size_of(DType dtype);
std::string_view name_of(DType dtype);  // "float32"
std::optional<DType> dtype_named(std::string_view name);

using Shape = std::vector<std::int64_t>;

// Callers have checked that the product fits (see base/checked_math.h for untrusted shapes).
std::size_t element_count(const Shape& shape);

struct ArraySpec {
  DType dtype = DType::kUInt8;
  Shape shape;

  std::size_t bytes() const { return element_count(shape) * size_of(dtype); }
  bool operator==(const ArraySpec&) const = default;
};

}  // namespace penstock
