// Describes an array: its element type, its shape, and the device whose memory holds it. Names and layouts are
// NumPy's. All types here are plain values, and the functions may be called from any thread.
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

std::size_t size_of(DType dtype);  // bytes per element
std::string_view name_of(DType dtype);  // "float32"
std::optional<DType> dtype_named(std::string_view name);  // the inverse of name_of(); empty for an unknown name

// The extent of each axis, the slowest one first. A Shape without axes describes a single number.
using Shape = std::vector<std::int64_t>;

// Returns the product of all extents. The caller has checked that it fits into a std::size_t
// (base/checked_math.h does that for shapes from files).
std::size_t element_count(const Shape& shape);

// The type and shape of an array in C order without gaps.
struct ArraySpec {
  DType dtype = DType::kUInt8;
  Shape shape;

  std::size_t bytes() const { return element_count(shape) * size_of(dtype); }
  bool operator==(const ArraySpec&) const = default;
};

// The values are those of DLPack.
enum class DeviceKind : std::uint8_t { kCpu = 1, kCuda = 2 };

struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;  // among devices of this kind

  bool operator==(const Device&) const = default;
};

}  // namespace penstock
