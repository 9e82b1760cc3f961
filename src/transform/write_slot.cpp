#include "transform/write_slot.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/numbers/load_run.h"
#include "transform/kernels/kernels.h"
#include "transform/store_run.h"

namespace penstock {
namespace {

bool is_complex(DType dtype) { return dtype == DType::kComplex64 || dtype == DType::kComplex128; }
bool is_float(DType dtype) { return dtype >= DType::kFloat16 && dtype <= DType::kFloat64; }

// ---- the general path: a run of elements is converted to an intermediate type, then to the wanted type

void copy_items(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride,
                std::size_t item, std::size_t swap_unit, std::int64_t count) {
  if (swap_unit == 0 && from_stride == static_cast<std::int64_t>(item) && to_stride == from_stride) {
    std::memcpy(to, from, item * static_cast<std::size_t>(count));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::byte* at = to + i * to_stride;
    std::memcpy(at, from + i * from_stride, item);
    if (swap_unit > 1)
      for (std::size_t part = 0; part < item; part += swap_unit)
        std::reverse(at + part, at + part + swap_unit);
  }
}

// Calls row(from, to, outer index) for every run along `inner`.
template <typename Row>
void for_each_run(const View& from, std::byte* out, const View& to, int inner, Row row) {
  std::array<std::int64_t, kMaxRank> index{};
  for (int d = 0; d < from.rank; ++d)
    if (from.shape[static_cast<std::size_t>(d)] == 0) return;
  while (true) {
    const std::byte* source = from.data;
    std::byte* target = out;
    for (std::size_t d = 0; d < static_cast<std::size_t>(from.rank); ++d) {
      source += index[d] * from.stride[d];
      target += index[d] * to.stride[d];
    }
    row(source, target, index);
    int d = from.rank - 1;
    for (; d >= 0; --d) {
      if (d == inner) continue;
      auto& i = index[static_cast<std::size_t>(d)];
      if (++i < from.shape[static_cast<std::size_t>(d)]) break;
      i = 0;
    }
    if (d < 0) return;
  }
}

// Works in short blocks, because this memory is outside the budget and must not grow with the sample.
template <typename Middle>
void convert_runs(const View& from, std::byte* out, const View& to, int inner, std::int64_t count) {
  constexpr std::int64_t kBlock = 512;
  const auto axis = static_cast<std::size_t>(inner);
  const Affine& affine = from.affine;
  std::array<Middle, kBlock> block;
  for_each_run(from, out, to, inner, [&](const std::byte* source, std::byte* target, const auto& index) {
    for (std::int64_t done = 0; done < count; done += kBlock) {
      const std::int64_t step = std::min(kBlock, count - done);
      load_run(from.dtype, source + done * from.stride[axis], from.stride[axis], from.swap_bytes,
               block.data(), step);
      if (affine.scale != nullptr)
        for (std::int64_t i = 0; i < step; ++i) {
          const std::int64_t at = affine.axis < 0        ? 0
                                  : affine.axis == inner ? done + i
                                                         : index[static_cast<std::size_t>(affine.axis)];
          auto& value = block[static_cast<std::size_t>(i)];
          value = static_cast<Middle>(static_cast<float>(value) * affine.scale[at] + affine.bias[at]);
        }
      store_run(to.dtype, block.data(), target + done * to.stride[axis], to.stride[axis], step);
    }
  });
}

void copy_general(const View& from, std::byte* out, const View& to) {
  // The longest axis gives the longest runs. A scalar is a single run of one element.
  View one_from = from, one_to = to;
  if (from.rank == 0) {
    one_from.rank = one_to.rank = 1;
    one_from.shape[0] = one_to.shape[0] = 1;
  }
  int inner = 0;
  for (int d = 1; d < one_from.rank; ++d)
    if (one_from.shape[static_cast<std::size_t>(d)] >= one_from.shape[static_cast<std::size_t>(inner)])
      inner = d;
  const auto axis = static_cast<std::size_t>(inner);
  const std::int64_t count = one_from.shape[axis];
  if (from.dtype == to.dtype && from.affine.scale == nullptr) {
    const std::size_t item = size_of(from.dtype);
    const std::size_t unit = !from.swap_bytes ? 0 : is_complex(from.dtype) ? item / 2 : item;
    for_each_run(one_from, out, one_to, inner, [&](const std::byte* source, std::byte* target, const auto&) {
      copy_items(source, one_from.stride[axis], target, one_to.stride[axis], item, unit, count);
    });
  } else if (from.affine.scale == nullptr && !is_float(from.dtype) && !is_float(to.dtype)) {
    if (from.dtype == DType::kUInt64)
      convert_runs<std::uint64_t>(one_from, out, one_to, inner, count);
    else
      convert_runs<std::int64_t>(one_from, out, one_to, inner, count);
  } else {
    convert_runs<double>(one_from, out, one_to, inner, count);
  }
}

// ---- fast paths

// Converts uint8 pixels to planes, or to any layout in which the pixels of a channel are contiguous.
bool copy_planes(const View& from, std::byte* out, const View& to) {
  const auto item = static_cast<std::int64_t>(size_of(to.dtype));
  const std::int64_t step = from.stride[1];
  if (!from.is_image || from.dtype != DType::kUInt8 || to.stride[1] != item) return false;
  if (const auto apart = std::abs(step); apart != 4 && apart != 3 && apart != 1) return false;
  if (from.affine.scale != nullptr && from.affine.axis != 2 && from.affine.axis != -1) return false;
  const bool plain = to.dtype == DType::kUInt8 && from.affine.scale == nullptr;
  if (!plain && to.dtype != DType::kFloat32 && to.dtype != DType::kFloat16 && to.dtype != DType::kBFloat16)
    return false;
  const Kernels& k = kernels();
  const auto width = static_cast<std::size_t>(from.width());
  for (std::int64_t c = 0; c < from.channels(); ++c) {
    const std::int64_t at = from.affine.axis < 0 ? 0 : c;
    const float scale = from.affine.scale ? from.affine.scale[at] : 1.0f;
    const float bias = from.affine.scale ? from.affine.bias[at] : 0.0f;
    for (std::int64_t y = 0; y < from.height(); ++y) {
      const auto* pixels =
          reinterpret_cast<const std::uint8_t*>(from.data + y * from.stride[0] + c * from.stride[2]);
      std::byte* row = out + y * to.stride[0] + c * to.stride[2];
      const int s = static_cast<int>(step);
      if (plain)
        k.channel_to_u8(pixels, s, reinterpret_cast<std::uint8_t*>(row), width);
      else if (to.dtype == DType::kFloat32)
        k.channel_to_f32(pixels, s, reinterpret_cast<float*>(row), width, scale, bias);
      else if (to.dtype == DType::kFloat16)
        k.channel_to_f16(pixels, s, reinterpret_cast<std::uint16_t*>(row), width, scale, bias);
      else
        k.channel_to_bf16(pixels, s, reinterpret_cast<std::uint16_t*>(row), width, scale, bias);
    }
  }
  return true;
}

// Converts uint8 pixels to three interleaved channels.
bool copy_interleaved(const View& from, std::byte* out, const View& to) {
  const auto item = static_cast<std::int64_t>(size_of(to.dtype));
  const std::int64_t step = from.stride[1];
  if (!from.is_image || from.dtype != DType::kUInt8 || from.channels() != 3 || from.stride[2] != 1)
    return false;
  if (const auto apart = std::abs(step); apart != 4 && apart != 3) return false;
  if (to.stride[1] != 3 * item || to.stride[2] != item) return false;
  const bool plain = to.dtype == DType::kUInt8 && from.affine.scale == nullptr;
  if (!plain && (to.dtype != DType::kFloat32 || from.affine.axis != 2)) return false;
  const auto width = static_cast<std::size_t>(from.width());
  for (std::int64_t y = 0; y < from.height(); ++y) {
    const auto* pixels = reinterpret_cast<const std::uint8_t*>(from.data + y * from.stride[0]);
    std::byte* row = out + y * to.stride[0];
    if (plain)
      kernels().pack_rgb_u8(pixels, static_cast<int>(step), reinterpret_cast<std::uint8_t*>(row), width);
    else
      kernels().pack_rgb_f32(pixels, static_cast<int>(step), reinterpret_cast<float*>(row), width,
                             from.affine.scale, from.affine.bias);
  }
  return true;
}

// Converts three interleaved channels to pixels of four bytes.
bool copy_to_pixels(const View& from, std::byte* out, const View& to) {
  if (!from.is_image || from.dtype != DType::kUInt8 || to.dtype != DType::kUInt8 || from.channels() != 3)
    return false;
  if (from.affine.scale != nullptr || from.stride[1] != 3 || from.stride[2] != 1 || to.stride[1] != 4 ||
      to.stride[2] != 1)
    return false;
  for (std::int64_t y = 0; y < from.height(); ++y)
    kernels().unpack_rgb_u8(reinterpret_cast<const std::uint8_t*>(from.data + y * from.stride[0]),
                            reinterpret_cast<std::uint8_t*>(out + y * to.stride[0]),
                            static_cast<std::size_t>(from.width()));
  return true;
}

// Converts contiguous float32 to float32, float16 or bfloat16, with one scale for all elements or one per
// index of the first axis.
bool copy_floats(const View& from, std::byte* out, const View& to) {
  if (from.dtype != DType::kFloat32 || from.swap_bytes || from.rank == 0) return false;
  if (!is_c_contiguous(from) || !is_c_contiguous(to)) return false;
  const Affine& affine = from.affine;
  const bool half = to.dtype == DType::kFloat16 || to.dtype == DType::kBFloat16;
  if (affine.scale ? (to.dtype != DType::kFloat32 || affine.axis > 0) : !half) return false;
  const auto* in = reinterpret_cast<const float*>(from.data);
  const std::size_t total = element_count(from.shape_vector());
  if (half) {
    (to.dtype == DType::kFloat16 ? kernels().f32_to_f16 : kernels().f32_to_bf16)(
        in, reinterpret_cast<std::uint16_t*>(out), total);
    return true;
  }
  const auto groups = static_cast<std::size_t>(affine.axis < 0 ? 1 : from.shape[0]);
  const std::size_t each = groups ? total / groups : 0;
  for (std::size_t g = 0; g < groups; ++g)
    kernels().scale_f32(in + g * each, reinterpret_cast<float*>(out) + g * each, each, affine.scale[g],
                        affine.bias[g]);
  return true;
}

}  // namespace

bool can_convert(DType from, DType to) { return from == to || (!is_complex(from) && !is_complex(to)); }

void copy_view(const View& from, std::byte* out, const View& to) {
  if (from.dtype == to.dtype && from.affine.scale == nullptr && !from.swap_bytes && is_c_contiguous(from) &&
      is_c_contiguous(to)) {
    std::memcpy(out, from.data, element_count(from.shape_vector()) * size_of(from.dtype));
    return;
  }
  if (from.rank == 3 &&
      (copy_planes(from, out, to) || copy_interleaved(from, out, to) || copy_to_pixels(from, out, to)))
    return;
  if (copy_floats(from, out, to)) return;
  copy_general(from, out, to);
}

}  // namespace penstock
