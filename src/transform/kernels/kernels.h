// The inner loops, compiled once for each instruction set and chosen when the program starts.
//
// They are plain C++ that the compiler vectorises, without fused multiply-add, so every machine
// computes the same bits (docs/decisions/0003). Rows do not overlap their outputs.
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
  // The same of pixels of three items, to pixels of four; reads one item beyond the last.
  void (*blend_columns_x3_u8)(const float* row, const int* first, const float* weights, int taps,
                              std::uint8_t* out, int count);
  void (*blend_columns_x4_f32)(const float* row, const int* first, const float* weights, int taps, float* out,
                               int count);
  void (*blend_columns_x1_u8)(const float* row, const int* first, const float* weights, int taps,
                              std::uint8_t* out, int count);
  void (*blend_columns_x1_f32)(const float* row, const int* first, const float* weights, int taps, float* out,
                               int count);

  // One channel of a row of pixels: out[i] = pixels[i * step] * scale + bias. step: 4, 3 or 1, also
  // backwards.
  void (*channel_to_f32)(const std::uint8_t* pixels, int step, float* out, std::size_t count, float scale,
                         float bias);
  void (*channel_to_f16)(const std::uint8_t* pixels, int step, std::uint16_t* out, std::size_t count,
                         float scale, float bias);
  void (*channel_to_bf16)(const std::uint8_t* pixels, int step, std::uint16_t* out, std::size_t count,
                          float scale, float bias);
  void (*channel_to_u8)(const std::uint8_t* pixels, int step, std::uint8_t* out, std::size_t count);

  // A row of pixels to three channels side by side. step: 4 or 3, also backwards.
  void (*pack_rgb_u8)(const std::uint8_t* pixels, int step, std::uint8_t* out, std::size_t count);
  // And back, to four bytes each; what the fourth are is left open.
  void (*unpack_rgb_u8)(const std::uint8_t* pixels, std::uint8_t* out, std::size_t count);
  void (*pack_rgb_f32)(const std::uint8_t* pixels, int step, float* out, std::size_t count,
                       const float* scale, const float* bias);

  // Contiguous float32 to float32 (with scale and bias), float16 and bfloat16.
  void (*scale_f32)(const float* in, float* out, std::size_t count, float scale, float bias);
  // Rows of stored numbers to values: in[i] * scale + bias. Strides in items.
  void (*rows_u8_to_f32)(const std::uint8_t* in, std::ptrdiff_t in_stride, float* out,
                         std::ptrdiff_t out_stride, std::size_t rows, std::size_t count, float scale,
                         float bias);
  void (*rows_u16_to_f32)(const std::uint16_t* in, std::ptrdiff_t in_stride, float* out,
                          std::ptrdiff_t out_stride, std::size_t rows, std::size_t count, float scale,
                          float bias);
  void (*rows_i16_to_f32)(const std::int16_t* in, std::ptrdiff_t in_stride, float* out,
                          std::ptrdiff_t out_stride, std::size_t rows, std::size_t count, float scale,
                          float bias);
  // The same, but `instead` where in[i] is `missing` (or, of floats, no number at all).
  void (*coded_i16_to_f32)(const std::int16_t* in, float* out, std::size_t count, float scale, float bias,
                           std::int16_t missing, float instead);
  void (*coded_f32_to_f32)(const float* in, float* out, std::size_t count, float scale, float bias,
                           float missing, float instead);
  void (*f32_to_f16)(const float* in, std::uint16_t* out, std::size_t count);
  void (*f32_to_bf16)(const float* in, std::uint16_t* out, std::size_t count);
};

// The best set this processor runs.
const Kernels& kernels();

// All sets this processor runs, the plainest first: for tests that compare them.
std::size_t runnable_kernels(const Kernels* (&out)[3]);

}  // namespace penstock
