// Copies a piece of a chunk into a sample. It converts the type, decodes the values and applies a pending
// Normalize in one pass over the elements.
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
  Affine affine;  // its axis is an axis of this copy; scale and bias begin at the first element
};

// Fails only if a value is missing that must not be missing. Thread-safe.
Status scatter(ScatterCopy copy);

}  // namespace penstock
