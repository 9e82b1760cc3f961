#include "decode/codec/element_filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <limits>

#include "base/numbers/half_float.h"

namespace penstock {
namespace {

// Elements pass through a small block of one wide type. So there is one function per type, not one per pair
// of types. A block is read before it is written, so encoded and decoded bytes may be the same memory.
constexpr std::size_t kBlock = 512;
using Doubles = std::array<double, kBlock>;
using Integers = std::array<std::uint64_t, kBlock>;

struct Half {
  std::uint16_t bits = 0;
};

bool is_float(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
}
bool is_integer(DType dtype) { return dtype >= DType::kUInt8 && dtype <= DType::kInt64; }

// Calls use(T{}) with the C++ type; only types that passed check_filter come here.
template <typename Use>
void with_type(DType dtype, Use use) {
  switch (dtype) {
    case DType::kUInt8: return use(std::uint8_t{});
    case DType::kInt8: return use(std::int8_t{});
    case DType::kUInt16: return use(std::uint16_t{});
    case DType::kInt16: return use(std::int16_t{});
    case DType::kUInt32: return use(std::uint32_t{});
    case DType::kInt32: return use(std::int32_t{});
    case DType::kUInt64: return use(std::uint64_t{});
    case DType::kInt64: return use(std::int64_t{});
    case DType::kFloat16: return use(Half{});
    case DType::kFloat32: return use(float{});
    case DType::kFloat64: return use(double{});
    default: return;
  }
}

template <typename T>
T load(const std::byte* at, bool big_endian) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), at, sizeof(T));
  if (big_endian)
    for (std::size_t i = 0; i < sizeof(T) / 2; ++i) std::swap(bytes[i], bytes[sizeof(T) - 1 - i]);
  return std::bit_cast<T>(bytes);
}

template <typename T>
void store(T value, std::byte* at, bool big_endian) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  if (big_endian)
    for (std::size_t i = 0; i < sizeof(T) / 2; ++i) std::swap(bytes[i], bytes[sizeof(T) - 1 - i]);
  std::memcpy(at, bytes.data(), sizeof(T));
}

// Converts as C does if C defines the result, otherwise as x86 does with 64 bits.
template <std::integral T>
T to_integer(double value) {
  constexpr double kTwo63 = 9223372036854775808.0;
  if (std::same_as<T, std::uint64_t> && value >= kTwo63 && value < 2 * kTwo63)
    return static_cast<T>(static_cast<std::uint64_t>(value));
  if (!(value >= -kTwo63 && value < kTwo63)) return static_cast<T>(std::numeric_limits<std::int64_t>::min());
  return static_cast<T>(static_cast<std::int64_t>(value));
}

void load_doubles(StoredType type, const std::byte* from, std::size_t count, Doubles& out) {
  with_type(type.dtype, [&]<typename T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      const T value = load<T>(from + i * sizeof(T), type.big_endian);
      if constexpr (std::same_as<T, Half>)
        out[i] = half_to_double(value.bits);
      else
        out[i] = static_cast<double>(value);
    }
  });
}

void store_doubles(StoredType type, const Doubles& values, std::size_t count, std::byte* to) {
  with_type(type.dtype, [&]<typename T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      std::byte* const at = to + i * sizeof(T);
      if constexpr (std::same_as<T, Half>)
        store(Half{double_to_half(values[i])}, at, type.big_endian);
      else if constexpr (std::integral<T>)
        store(to_integer<T>(values[i]), at, type.big_endian);
      else
        store(static_cast<T>(values[i]), at, type.big_endian);
    }
  });
}

template <typename Work>
void for_blocks(StoredType from, ConstBytes encoded, StoredType to, MutableBytes decoded, Work work) {
  const std::size_t from_bytes = size_of(from.dtype), to_bytes = size_of(to.dtype);
  const std::size_t count = decoded.size() / to_bytes;
  for (std::size_t first = 0; first < count; first += kBlock)
    work(encoded.data() + first * from_bytes, std::min(kBlock, count - first),
         decoded.data() + first * to_bytes);
}

float round_to_half(float value) { return static_cast<float>(half_to_double(double_to_half(value))); }

// A sum of differences modulo 2^64 is also correct modulo any smaller power of two.
void sum_integers(const DeltaCodec& codec, ConstBytes encoded, MutableBytes decoded) {
  Integers block;
  std::uint64_t sum = 0;
  for_blocks(codec.encoded, encoded, codec.decoded, decoded,
             [&](const std::byte* from, std::size_t count, std::byte* to) {
               with_type(codec.encoded.dtype, [&]<typename T>(T) {
                 if constexpr (std::integral<T>)
                   for (std::size_t i = 0; i < count; ++i)
                     block[i] =
                         static_cast<std::uint64_t>(load<T>(from + i * sizeof(T), codec.encoded.big_endian));
               });
               for (std::size_t i = 0; i < count; ++i) block[i] = sum += block[i];
               with_type(codec.decoded.dtype, [&]<typename T>(T) {
                 if constexpr (std::integral<T>)
                   for (std::size_t i = 0; i < count; ++i)
                     store(static_cast<T>(block[i]), to + i * sizeof(T), codec.decoded.big_endian);
               });
             });
}

// `round` rounds a number to the type in which the sum is computed.
template <typename T, typename Round>
void sum_floats(const DeltaCodec& codec, ConstBytes encoded, MutableBytes decoded, Round round) {
  Doubles block;
  T sum = 0;
  bool first = true;
  for_blocks(codec.encoded, encoded, codec.decoded, decoded,
             [&](const std::byte* from, std::size_t count, std::byte* to) {
               load_doubles(codec.encoded, from, count, block);
               for (std::size_t i = 0; i < count; ++i) {
                 const T difference = static_cast<T>(block[i]);
                 sum = first ? difference : round(sum + difference);  // 0 + -0 would lose the sign
                 first = false;
                 block[i] = sum;
               }
               store_doubles(codec.decoded, block, count, to);
             });
}

// NumPy sums in a type that holds both types, which is float64 if one is uint64 and the other is signed.
bool sums_integers(const DeltaCodec& codec) {
  const DType decoded = codec.decoded.dtype, encoded = codec.encoded.dtype;
  const auto is_signed = [](DType dtype) {
    return dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32 ||
           dtype == DType::kInt64;
  };
  return is_integer(decoded) && is_integer(encoded) && !(decoded == DType::kUInt64 && is_signed(encoded)) &&
         !(encoded == DType::kUInt64 && is_signed(decoded));
}

// The width of the narrowest float that holds all values of the type, by NumPy's rules.
std::size_t float_bytes(DType dtype) {
  return is_float(dtype) ? size_of(dtype) : std::min<std::size_t>(2 * size_of(dtype), 8);
}

bool are_numbers(const auto& codec) {
  const auto is_number = [](DType dtype) { return is_integer(dtype) || is_float(dtype); };
  return is_number(codec.decoded.dtype) && is_number(codec.encoded.dtype);
}

Status no_arithmetic(const char* filter, StoredType decoded, StoredType encoded) {
  return fail(ErrorCode::kUnsupported,
              fmt::format("{} from {} to {}", filter, name_of(encoded.dtype), name_of(decoded.dtype)));
}

}  // namespace

Status check_filter(const DeltaCodec& codec) {
  return are_numbers(codec) ? Status{} : no_arithmetic("delta", codec.decoded, codec.encoded);
}

Status check_filter(const FixedScaleOffsetCodec& codec) {
  return are_numbers(codec) ? Status{} : no_arithmetic("fixedscaleoffset", codec.decoded, codec.encoded);
}

Status check_filter(const QuantizeCodec& codec) {
  for (const DType dtype : {codec.decoded.dtype, codec.encoded.dtype})
    if (!is_float(dtype)) return no_arithmetic("quantize", codec.decoded, codec.encoded);
  return {};
}

void undo_filter(const DeltaCodec& codec, ConstBytes encoded, MutableBytes decoded) {
  if (sums_integers(codec)) return sum_integers(codec, encoded, decoded);
  switch (std::max(float_bytes(codec.decoded.dtype), float_bytes(codec.encoded.dtype))) {
    case 2: return sum_floats<float>(codec, encoded, decoded, round_to_half);
    case 4: return sum_floats<float>(codec, encoded, decoded, [](float v) { return v; });
    default: return sum_floats<double>(codec, encoded, decoded, [](double v) { return v; });
  }
}

void undo_filter(const FixedScaleOffsetCodec& codec, ConstBytes encoded, MutableBytes decoded) {
  Doubles block;
  // Integers are divided as float64. Floats, and the two parameters with them, keep the width of the float.
  const auto scale = static_cast<float>(codec.scale), offset = static_cast<float>(codec.offset);
  const auto half_scale = static_cast<float>(half_to_double(double_to_half(codec.scale)));
  const auto half_offset = static_cast<float>(half_to_double(double_to_half(codec.offset)));
  for_blocks(codec.encoded, encoded, codec.decoded, decoded,
             [&](const std::byte* from, std::size_t count, std::byte* to) {
               load_doubles(codec.encoded, from, count, block);
               switch (codec.encoded.dtype) {
                 case DType::kFloat16:
                   for (std::size_t i = 0; i < count; ++i)
                     block[i] = round_to_half(round_to_half(static_cast<float>(block[i]) / half_scale) +
                                              half_offset);
                   break;
                 case DType::kFloat32:
                   for (std::size_t i = 0; i < count; ++i)
                     block[i] = static_cast<float>(block[i]) / scale + offset;
                   break;
                 default:
                   for (std::size_t i = 0; i < count; ++i) block[i] = block[i] / codec.scale + codec.offset;
               }
               store_doubles(codec.decoded, block, count, to);
             });
}

void undo_filter(const QuantizeCodec& codec, ConstBytes encoded, MutableBytes decoded) {
  Doubles block;
  for_blocks(codec.encoded, encoded, codec.decoded, decoded,
             [&](const std::byte* from, std::size_t count, std::byte* to) {
               load_doubles(codec.encoded, from, count, block);
               store_doubles(codec.decoded, block, count, to);
             });
}

}  // namespace penstock
