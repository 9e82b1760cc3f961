#include "penstock/array.h"

#include <array>

namespace penstock {
namespace {

struct TypeRow {
  DType dtype;
  std::string_view name;
  std::size_t size;
};

constexpr std::array kTypes = {
    TypeRow{DType::kBool, "bool", 1},
    TypeRow{DType::kUInt8, "uint8", 1},
    TypeRow{DType::kInt8, "int8", 1},
    TypeRow{DType::kUInt16, "uint16", 2},
    TypeRow{DType::kInt16, "int16", 2},
    TypeRow{DType::kUInt32, "uint32", 4},
    TypeRow{DType::kInt32, "int32", 4},
    TypeRow{DType::kUInt64, "uint64", 8},
    TypeRow{DType::kInt64, "int64", 8},
    TypeRow{DType::kFloat16, "float16", 2},
    TypeRow{DType::kBFloat16, "bfloat16", 2},
    TypeRow{DType::kFloat32, "float32", 4},
    TypeRow{DType::kFloat64, "float64", 8},
    TypeRow{DType::kComplex64, "complex64", 8},
    TypeRow{DType::kComplex128, "complex128", 16},
};

const TypeRow& row_of(DType dtype) { return kTypes[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::size_t size_of(DType dtype) { return row_of(dtype).size; }

std::string_view name_of(DType dtype) { return row_of(dtype).name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (const TypeRow& row : kTypes)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

std::size_t element_count(const Shape& shape) {
  std::size_t count = 1;
  for (std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  return count;
}

}  // namespace penstock
