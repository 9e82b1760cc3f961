#include "transform/store_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "transform/kernels/kernels.h"

namespace penstock {
namespace {

template <typename T, typename Middle>
T clamp_to(Middle value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_floating_point_v<Middle>) {
    if (std::isnan(value)) return 0;
    if (value <= static_cast<Middle>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (value >= static_cast<Middle>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(value);
  } else {
    if (std::cmp_less(value, std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (std::cmp_greater(value, std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(value);
  }
}

template <typename T, typename Middle>
void store_as(const Middle* in, std::byte* out, std::int64_t stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T value = clamp_to<T>(in[i]);
    std::memcpy(out + i * stride, &value, sizeof(T));
  }
}

template <typename Middle>
void store_halves(DType dtype, const Middle* in, std::byte* out, std::int64_t stride, std::int64_t count) {
  constexpr std::int64_t kRunBlock = 256;
  float values[kRunBlock];
  std::uint16_t halves[kRunBlock];
  for (std::int64_t done = 0; done < count; done += kRunBlock) {
    const std::int64_t step = std::min(kRunBlock, count - done);
    for (std::int64_t i = 0; i < step; ++i) values[i] = static_cast<float>(in[done + i]);
    (dtype == DType::kFloat16 ? kernels().f32_to_f16 : kernels().f32_to_bf16)(values, halves,
                                                                              static_cast<std::size_t>(step));
    for (std::int64_t i = 0; i < step; ++i) std::memcpy(out + (done + i) * stride, &halves[i], 2);
  }
}

}  // namespace

template <typename Middle>
void store_run(DType dtype, const Middle* in, std::byte* out, std::int64_t stride, std::int64_t count) {
  switch (dtype) {
    case DType::kBool:
      for (std::int64_t i = 0; i < count; ++i) out[i * stride] = std::byte{in[i] != 0};
      return;
    case DType::kUInt8: return store_as<std::uint8_t>(in, out, stride, count);
    case DType::kInt8: return store_as<std::int8_t>(in, out, stride, count);
    case DType::kUInt16: return store_as<std::uint16_t>(in, out, stride, count);
    case DType::kInt16: return store_as<std::int16_t>(in, out, stride, count);
    case DType::kUInt32: return store_as<std::uint32_t>(in, out, stride, count);
    case DType::kInt32: return store_as<std::int32_t>(in, out, stride, count);
    case DType::kUInt64: return store_as<std::uint64_t>(in, out, stride, count);
    case DType::kInt64: return store_as<std::int64_t>(in, out, stride, count);
    case DType::kFloat16:
    case DType::kBFloat16: return store_halves(dtype, in, out, stride, count);
    case DType::kFloat32: return store_as<float>(in, out, stride, count);
    case DType::kFloat64: return store_as<double>(in, out, stride, count);
    case DType::kComplex64:
    case DType::kComplex128: break;
  }
}

template void store_run(DType, const double*, std::byte*, std::int64_t, std::int64_t);
template void store_run(DType, const std::int64_t*, std::byte*, std::int64_t, std::int64_t);
template void store_run(DType, const std::uint64_t*, std::byte*, std::int64_t, std::int64_t);

}  // namespace penstock
