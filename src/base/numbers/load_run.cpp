#include "base/numbers/load_run.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/numbers/half_float.h"

namespace penstock {
namespace {

template <typename T>
T read_item(const std::byte* at, bool swapped) {
  std::array<std::byte, sizeof(T)> raw;
  std::memcpy(raw.data(), at, sizeof(T));
  if (swapped) std::ranges::reverse(raw);
  return std::bit_cast<T>(raw);
}

template <typename T, typename Middle, typename Convert>
void load_as(const std::byte* data, std::int64_t stride, bool swapped, Middle* out, std::int64_t count,
             Convert convert) {
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = static_cast<Middle>(convert(read_item<T>(data + i * stride, swapped)));
}

}  // namespace

template <typename Middle>
void load_run(DType dtype, const std::byte* data, std::int64_t stride, bool swapped, Middle* out,
              std::int64_t count) {
  const auto as_is = [](auto v) { return v; };
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8: return load_as<std::uint8_t>(data, stride, swapped, out, count, as_is);
    case DType::kInt8: return load_as<std::int8_t>(data, stride, swapped, out, count, as_is);
    case DType::kUInt16: return load_as<std::uint16_t>(data, stride, swapped, out, count, as_is);
    case DType::kInt16: return load_as<std::int16_t>(data, stride, swapped, out, count, as_is);
    case DType::kUInt32: return load_as<std::uint32_t>(data, stride, swapped, out, count, as_is);
    case DType::kInt32: return load_as<std::int32_t>(data, stride, swapped, out, count, as_is);
    case DType::kUInt64: return load_as<std::uint64_t>(data, stride, swapped, out, count, as_is);
    case DType::kInt64: return load_as<std::int64_t>(data, stride, swapped, out, count, as_is);
    case DType::kFloat16: return load_as<std::uint16_t>(data, stride, swapped, out, count, half_to_float);
    case DType::kBFloat16:
      return load_as<std::uint16_t>(data, stride, swapped, out, count, [](std::uint16_t v) {
        return std::bit_cast<float>(std::uint32_t{v} << 16);
      });
    case DType::kFloat32: return load_as<float>(data, stride, swapped, out, count, as_is);
    case DType::kFloat64: return load_as<double>(data, stride, swapped, out, count, as_is);
    case DType::kComplex64:
    case DType::kComplex128: break;
  }
}

template void load_run(DType, const std::byte*, std::int64_t, bool, double*, std::int64_t);
template void load_run(DType, const std::byte*, std::int64_t, bool, std::int64_t*, std::int64_t);
template void load_run(DType, const std::byte*, std::int64_t, bool, std::uint64_t*, std::int64_t);

}  // namespace penstock
