// Included by one source file for each instruction set, which defines KERNEL_SET and KERNEL_NAME. Everything
// is local to the file, and nothing from the headers of the standard library is called: otherwise the linker
// could choose a function that was compiled for one processor and use it on another.
#include "transform/kernels/kernels.h"

namespace penstock {
namespace {

using Vec4 = float __attribute__((vector_size(16)));
using Bytes16 = unsigned char __attribute__((vector_size(16)));

struct __attribute__((packed, aligned(4))) LooseVec4 {
  Vec4 value;
};

template <int kTaps, bool kAdd, typename T>
inline void blend(const T* const* rows, const float* weights, float* out, std::size_t count) {
  const T* __restrict r0 = rows[0];
  const T* __restrict r1 = rows[kTaps > 1 ? 1 : 0];
  const T* __restrict r2 = rows[kTaps > 2 ? 2 : 0];
  const T* __restrict r3 = rows[kTaps > 3 ? 3 : 0];
  const float w0 = weights[0], w1 = weights[kTaps > 1 ? 1 : 0], w2 = weights[kTaps > 2 ? 2 : 0],
              w3 = weights[kTaps > 3 ? 3 : 0];
  float* __restrict o = out;
  for (std::size_t i = 0; i < count; ++i) {
    float sum = w0 * static_cast<float>(r0[i]);
    if constexpr (kTaps > 1) sum += w1 * static_cast<float>(r1[i]);
    if constexpr (kTaps > 2) sum += w2 * static_cast<float>(r2[i]);
    if constexpr (kTaps > 3) sum += w3 * static_cast<float>(r3[i]);
    if constexpr (kAdd) sum += o[i];
    o[i] = sum;
  }
}

template <bool kAdd, typename T>
inline void blend_some(const T* const* rows, const float* weights, int taps, float* out, std::size_t count) {
  switch (taps) {
    case 1: return blend<1, kAdd>(rows, weights, out, count);
    case 2: return blend<2, kAdd>(rows, weights, out, count);
    case 3: return blend<3, kAdd>(rows, weights, out, count);
    default: return blend<4, kAdd>(rows, weights, out, count);
  }
}

template <typename T>
void blend_rows(const T* const* rows, const float* weights, int taps, float* out, std::size_t count) {
  blend_some<false>(rows, weights, taps, out, count);
  for (int t = 4; t < taps; t += 4) blend_some<true>(rows + t, weights + t, taps - t, out, count);
}

inline Vec4 load4(const float* from) { return reinterpret_cast<const LooseVec4*>(from)->value; }

inline float clamp_byte(float value) {
  value += 0.5f;
  value = value < 0.f ? 0.f : value;
  return value > 255.f ? 255.f : value;
}

inline void round_to_bytes(const float* __restrict in, std::uint8_t* __restrict out, int count) {
  for (int i = 0; i < count; ++i) out[i] = static_cast<std::uint8_t>(static_cast<int>(clamp_byte(in[i])));
}

// Reads four floats of pixels of kItems floats. With three items, the fourth float belongs to the next pixel
// and is not used.
template <int kItems, int kTaps>
inline void columns_of(const float* row, const int* first, const float* weights, int taps, float* out,
                       int count) {
  const int n = kTaps > 0 ? kTaps : taps;
  for (int x = 0; x < count; ++x) {
    const float* from = row + kItems * static_cast<std::ptrdiff_t>(first[x]);
    Vec4 sum = load4(from) * weights[0];
    for (int t = 1; t < n; ++t) sum += load4(from + kItems * t) * weights[t];
    __builtin_memcpy(out + 4 * static_cast<std::ptrdiff_t>(x), &sum, 16);
    weights += n;
  }
}

template <int kItems>
void blend_columns_f32(const float* row, const int* first, const float* weights, int taps, float* out,
                       int count) {
  switch (taps) {
    case 1: return columns_of<kItems, 1>(row, first, weights, taps, out, count);
    case 2: return columns_of<kItems, 2>(row, first, weights, taps, out, count);
    case 3: return columns_of<kItems, 3>(row, first, weights, taps, out, count);
    case 4: return columns_of<kItems, 4>(row, first, weights, taps, out, count);
    case 5: return columns_of<kItems, 5>(row, first, weights, taps, out, count);
    default: return columns_of<kItems, 0>(row, first, weights, taps, out, count);
  }
}

void blend_columns_x1_f32(const float* row, const int* first, const float* weights, int taps, float* out,
                          int count) {
  for (int x = 0; x < count; ++x) {
    float sum = 0;
    for (int t = 0; t < taps; ++t) sum += row[first[x] + t] * weights[t];
    out[x] = sum;
    weights += taps;
  }
}

// Computes bytes through a short run of floats, which the compiler converts one vector at a time.
template <int kItems, void (*kBlend)(const float*, const int*, const float*, int, float*, int)>
void blend_columns_u8(const float* row, const int* first, const float* weights, int taps, std::uint8_t* out,
                      int count) {
  constexpr int kRun = 128;
  float sums[kItems * kRun];
  for (int x = 0; x < count; x += kRun) {
    const int run = count - x < kRun ? count - x : kRun;
    kBlend(row, first + x, weights + static_cast<std::ptrdiff_t>(x) * taps, taps, sums, run);
    round_to_bytes(sums, out + static_cast<std::ptrdiff_t>(x) * kItems, run * kItems);
  }
}

inline unsigned short to_bf16(float value) {
  unsigned bits;
  __builtin_memcpy(&bits, &value, 4);
  // Round to nearest even; not-a-number stays one.
  const unsigned rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<unsigned short>((bits & 0x7FFFFFFFu) > 0x7F800000u ? (bits >> 16) | 0x40u : rounded);
}

inline unsigned short to_f16(float value) {
#ifdef __F16C__
  const _Float16 half = static_cast<_Float16>(value);
  unsigned short out;
  __builtin_memcpy(&out, &half, 2);
  return out;
#else
  unsigned bits;
  __builtin_memcpy(&bits, &value, 4);
  const unsigned sign = (bits >> 16) & 0x8000u;
  const unsigned magnitude = bits & 0x7FFFFFFFu;
  unsigned half;
  if (magnitude > 0x7F800000u) {
    half = 0x7E00u | ((magnitude >> 13) & 0x3FFu);
  } else if (magnitude >= 0x477FF000u) {
    half = 0x7C00u;  // rounds to infinity
  } else if (magnitude >= 0x38800000u) {
    const unsigned rebased = magnitude - 0x38000000u;
    half = (rebased + 0xFFFu + ((rebased >> 13) & 1u)) >> 13;
  } else {
    // Subnormal: adding 2^-1 leaves the rounded value in the low bits.
    float shifted;
    __builtin_memcpy(&shifted, &magnitude, 4);
    shifted += 0.5f;
    unsigned low;
    __builtin_memcpy(&low, &shifted, 4);
    half = low - 0x3F000000u;
  }
  return static_cast<unsigned short>(sign | half);
#endif
}

template <int kStep, typename Out, typename Convert>
inline void channel_by(const std::uint8_t* pixels, Out* out, std::size_t count, Convert convert) {
  for (std::size_t i = 0; i < count; ++i) out[i] = convert(pixels[static_cast<std::ptrdiff_t>(i) * kStep]);
}

template <typename Out, typename Convert>
inline void channel(const std::uint8_t* pixels, int step, Out* out, std::size_t count, Convert convert) {
  switch (step) {
    case 4: return channel_by<4>(pixels, out, count, convert);
    case -4: return channel_by<-4>(pixels, out, count, convert);
    case 3: return channel_by<3>(pixels, out, count, convert);
    case -3: return channel_by<-3>(pixels, out, count, convert);
    case 1: return channel_by<1>(pixels, out, count, convert);
    default: return channel_by<-1>(pixels, out, count, convert);
  }
}

void channel_to_f32(const std::uint8_t* pixels, int step, float* __restrict out, std::size_t count,
                    float scale, float bias) {
  channel(pixels, step, out, count, [=](std::uint8_t v) { return static_cast<float>(v) * scale + bias; });
}

void channel_to_f16(const std::uint8_t* pixels, int step, std::uint16_t* __restrict out, std::size_t count,
                    float scale, float bias) {
  channel(pixels, step, out, count,
          [=](std::uint8_t v) { return to_f16(static_cast<float>(v) * scale + bias); });
}

void channel_to_bf16(const std::uint8_t* pixels, int step, std::uint16_t* __restrict out, std::size_t count,
                     float scale, float bias) {
  channel(pixels, step, out, count,
          [=](std::uint8_t v) { return to_bf16(static_cast<float>(v) * scale + bias); });
}

void channel_to_u8(const std::uint8_t* pixels, int step, std::uint8_t* __restrict out, std::size_t count) {
  channel(pixels, step, out, count, [](std::uint8_t v) { return v; });
}

void pack_rgb_u8(const std::uint8_t* pixels, int step, std::uint8_t* __restrict out, std::size_t count) {
  if (step == 4 && count > 0) {
    // Four pixels at a time, then one. The next pixels overwrite surplus bytes.
    std::size_t i = 0;
    for (; i + 6 <= count; i += 4) {
      Bytes16 four;
      __builtin_memcpy(&four, pixels + 4 * i, 16);
      four = __builtin_shufflevector(four, four, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
      __builtin_memcpy(out + 3 * i, &four, 16);
    }
    for (; i + 1 < count; ++i) __builtin_memcpy(out + 3 * i, pixels + 4 * i, 4);
    __builtin_memcpy(out + 3 * (count - 1), pixels + 4 * (count - 1), 3);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* p = pixels + static_cast<std::ptrdiff_t>(i) * step;
    out[3 * i] = p[0];
    out[3 * i + 1] = p[1];
    out[3 * i + 2] = p[2];
  }
}

void unpack_rgb_u8(const std::uint8_t* pixels, std::uint8_t* __restrict out, std::size_t count) {
  // Copies four bytes at a time, except for the last pixel, which has no fourth byte.
  for (std::size_t i = 0; i + 1 < count; ++i) __builtin_memcpy(out + 4 * i, pixels + 3 * i, 4);
  if (count > 0) __builtin_memcpy(out + 4 * (count - 1), pixels + 3 * (count - 1), 3);
}

void pack_rgb_f32(const std::uint8_t* pixels, int step, float* __restrict out, std::size_t count,
                  const float* scale, const float* bias) {
  const float s0 = scale[0], s1 = scale[1], s2 = scale[2], b0 = bias[0], b1 = bias[1], b2 = bias[2];
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* p = pixels + static_cast<std::ptrdiff_t>(i) * step;
    out[3 * i] = static_cast<float>(p[0]) * s0 + b0;
    out[3 * i + 1] = static_cast<float>(p[1]) * s1 + b1;
    out[3 * i + 2] = static_cast<float>(p[2]) * s2 + b2;
  }
}

void scale_f32(const float* in, float* out, std::size_t count, float scale, float bias) {
  for (std::size_t i = 0; i < count; ++i) out[i] = in[i] * scale + bias;
}

template <typename T>
void rows_to_f32(const T* in, std::ptrdiff_t in_stride, float* out, std::ptrdiff_t out_stride,
                 std::size_t rows, std::size_t count, float scale, float bias) {
  for (std::size_t row = 0; row < rows; ++row) {
    const T* from = in + static_cast<std::ptrdiff_t>(row) * in_stride;
    float* __restrict to = out + static_cast<std::ptrdiff_t>(row) * out_stride;
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) * scale + bias;
  }
}

void coded_i16_to_f32(const std::int16_t* in, float* __restrict out, std::size_t count, float scale,
                      float bias, std::int16_t missing, float instead) {
  for (std::size_t i = 0; i < count; ++i)
    out[i] = in[i] == missing ? instead : static_cast<float>(in[i]) * scale + bias;
}

void coded_f32_to_f32(const float* in, float* __restrict out, std::size_t count, float scale, float bias,
                      float missing, float instead) {
  for (std::size_t i = 0; i < count; ++i)
    out[i] = in[i] == missing || in[i] != in[i] ? instead : in[i] * scale + bias;
}

void f32_to_f16(const float* in, std::uint16_t* __restrict out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = to_f16(in[i]);
}

void f32_to_bf16(const float* in, std::uint16_t* __restrict out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = to_bf16(in[i]);
}

}  // namespace

extern const Kernels KERNEL_SET;
const Kernels KERNEL_SET = {
    KERNEL_NAME,
    blend_rows<std::uint8_t>,
    blend_rows<float>,
    blend_columns_u8<4, blend_columns_f32<4>>,
    blend_columns_u8<4, blend_columns_f32<3>>,
    blend_columns_f32<4>,
    blend_columns_u8<1, blend_columns_x1_f32>,
    blend_columns_x1_f32,
    channel_to_f32,
    channel_to_f16,
    channel_to_bf16,
    channel_to_u8,
    pack_rgb_u8,
    unpack_rgb_u8,
    pack_rgb_f32,
    scale_f32,
    rows_to_f32<std::uint8_t>,
    rows_to_f32<std::uint16_t>,
    rows_to_f32<std::int16_t>,
    coded_i16_to_f32,
    coded_f32_to_f32,
    f32_to_f16,
    f32_to_bf16,
};

}  // namespace penstock
