// Conversions of float16, rounded as in NumPy: to the nearest value, ties to even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace penstock {

inline float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16, magnitude = half & 0x7FFFu;
  std::uint32_t bits;
  if (magnitude >= 0x7C00u)
    bits = (magnitude << 13) + (112u << 23) + (112u << 23);  // infinity, NaN
  else if (magnitude >= 0x0400u)
    bits = (magnitude << 13) + (112u << 23);
  else
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
  return std::bit_cast<float>(bits | sign);
}

// It does not convert to float first, because that would turn signalling NaNs into quiet ones.
inline double half_to_double(std::uint16_t half) {
  const bool negative = half & 0x8000;
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent == 31) {
    const std::uint64_t bits = std::uint64_t{0x7ff} << 52 | std::uint64_t(fraction) << 42;
    return std::copysign(std::bit_cast<double>(bits), negative ? -1.0 : 1.0);
  }
  const double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return negative ? -size : size;
}

inline std::uint16_t double_to_half(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 48 & 0x8000);
  const double size = std::fabs(value);
  if (std::isnan(value)) {
    const auto fraction = static_cast<std::uint16_t>(bits >> 42 & 1023);
    return static_cast<std::uint16_t>(sign | 0x7c00 | (fraction ? fraction : 1));
  }
  if (size >= 65520) return sign | 0x7c00;
  if (size < std::ldexp(1.0, -25)) return sign;
  int exponent = std::ilogb(size);
  if (exponent < -14) exponent = -14;
  // In units of the last place, which is exact until it is rounded. A carry increments the exponent, as it should.
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return static_cast<std::uint16_t>(sign + ((exponent + 14) << 10) + units);
}

}  // namespace penstock
