// The inner loops of transforms, compiled once per instruction set. The best set is chosen when the program
// starts.
//
// They are plain C++ that the compiler vectorises, without fused multiply-add, so that every machine computes
// the same bits (docs/decisions/0003). Inputs and outputs must not overlap. All functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

struct Kernels {
  const char* name;

  // out[i] = sum of weights[t] * rows[t][i]
  void (*blend_rows_u8)(const std::uint8_t* const* rows, const float* weights, int taps, float* out,
                        std::size_t count);
  void (*blend_rows_f32)(const float* const* rows, const float* weights, int taps, float* out,
                         std::size_t count);

  // out[x] = sum over t of weights[x * taps + t] * row[first[x] + t], for pixels of four items
  // (x4) or one (x1); rounded and clamped for uint8.
  void (*blend_columns_x4_u8)(const float* row, const int* first, const float* weights, int taps,
                              std::uint8_t* out, int count);
  // The same for pixels of three items; writes pixels of four items. Reads one item beyond the last pixel.
  void (*blend_columns_x3_u8)(const float* row, const int* first, const float* weights, int taps,
                              std::uint8_t* out, int count);
  void (*blend_columns_x4_f32)(const float* row, const int* first, const float* weights, int taps, float* out,
                               int count);
  void (*blend_columns_x1_u8)(const float* row, const int* first, const float* weights, int taps,
                              std::uint8_t* out, int count);
  void (*blend_columns_x1_f32)(const float* row, const int* first, const float* weights, int taps, float* out,
                               int count);

  // One channel of a row of pixels: out[i] = pixels[i * step] * scale + bias. `step` is 4, 3 or 1, or the
  // negative of these.
  void (*channel_to_f32)(const std::uint8_t* pixels, int step, float* out, std::size_t count, float scale,
                         float bias);
  void (*channel_to_f16)(const std::uint8_t* pixels, int step, std::uint16_t* out, std::size_t count,
                         float scale, float bias);
  void (*channel_to_bf16)(const std::uint8_t* pixels, int step, std::uint16_t* out, std::size_t count,
                          float scale, float bias);
  void (*channel_to_u8)(const std::uint8_t* pixels, int step, std::uint8_t* out, std::size_t count);

  // Converts a row of pixels to three interleaved channels. `step` is 4 or 3, or the negative of these.
  void (*pack_rgb_u8)(const std::uint8_t* pixels, int step, std::uint8_t* out, std::size_t count);
  // The inverse: writes four bytes per pixel. The fourth byte is undefined.
  void (*unpack_rgb_u8)(const std::uint8_t* pixels, std::uint8_t* out, std::size_t count);
  void (*pack_rgb_f32)(const std::uint8_t* pixels, int step, float* out, std::size_t count,
                       const float* scale, const float* bias);

  // Converts contiguous float32 to float32 (with scale and bias), float16 and bfloat16.
  void (*scale_f32)(const float* in, float* out, std::size_t count, float scale, float bias);
  // Converts rows of stored numbers to values: in[i] * scale + bias. Strides are in items.
  void (*rows_u8_to_f32)(const std::uint8_t* in, std::ptrdiff_t in_stride, float* out,
                         std::ptrdiff_t out_stride, std::size_t rows, std::size_t count, float scale,
                         float bias);
  void (*rows_u16_to_f32)(const std::uint16_t* in, std::ptrdiff_t in_stride, float* out,
                          std::ptrdiff_t out_stride, std::size_t rows, std::size_t count, float scale,
                          float bias);
  void (*rows_i16_to_f32)(const std::int16_t* in, std::ptrdiff_t in_stride, float* out,
                          std::ptrdiff_t out_stride, std::size_t rows, std::size_t count, float scale,
                          float bias);
  // The same, but writes `instead` if in[i] equals `missing` (or, for floats, is not a number).
  void (*coded_i16_to_f32)(const std::int16_t* in, float* out, std::size_t count, float scale, float bias,
                           std::int16_t missing, float instead);
  void (*coded_f32_to_f32)(const float* in, float* out, std::size_t count, float scale, float bias,
                           float missing, float instead);
  void (*f32_to_f16)(const float* in, std::uint16_t* out, std::size_t count);
  void (*f32_to_bf16)(const float* in, std::uint16_t* out, std::size_t count);
};

// The best set that this processor can run.
const Kernels& kernels();

// All sets that this processor can run, the simplest first, for tests that compare them.
std::size_t runnable_kernels(const Kernels* (&out)[3]);

}  // namespace penstock
