// Copies a piece of a chunk to its place in a sample, converting the type, decoding the values and
// applying a pending Normalize on the way: one pass over the elements.
#pragma once

#include "penstock/source.h"
#include "source/array_box.h"
#include "transform/view.h"

namespace penstock {

struct ScatterCopy {
  int rank = 0;
  ArrayBox::Axes count{};
  const std::byte* from = nullptr;
  ArrayBox::Axes from_stride{};  // bytes
  DType from_type = DType::kUInt8;
  bool swap_bytes = false;
  std::byte* to = nullptr;
  ArrayBox::Axes to_stride{};  // bytes
  DType to_type = DType::kUInt8;
  const ValueCoding* coding = nullptr;
  Affine affine;  // axis counts the axes of this copy; scale and bias begin at its first element
};

// Fails only where a value is missing that must not be.
Status scatter(ScatterCopy copy);

}  // namespace penstock
