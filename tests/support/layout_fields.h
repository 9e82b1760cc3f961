// Fields of a batch, for tests of what holds them.
#pragma once

#include <string>
#include <utility>

#include "batch/slot_layout.h"

namespace penstock {

inline LayoutField field(std::string name, DType dtype, Shape shape) {
  LayoutField out;
  out.field.name = std::move(name);
  out.field.spec = {dtype, std::move(shape)};
  return out;
}

inline LayoutField text_field(std::string name) {
  LayoutField out = field(std::move(name), DType::kUInt8, {});
  out.placement = Placement::kText;
  return out;
}

}  // namespace penstock
