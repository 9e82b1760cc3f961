// The table of transforms: one row per alternative of penstock::Transform, each defined in the transform's own file.
//
// make_op() checks the arguments and compiles them for a field of this kind. It also decides what a transform does to a
// mask. It returns nullptr if the transform does not change such fields, and fails if the arguments are invalid. A
// transform without a row is a compile error.
#pragma once

#include <variant>

#include "penstock/source.h"
#include "penstock/transform.h"
#include "transform/op.h"

namespace penstock {

Result<OpPtr> make_op(const Decode&, FieldKind);
Result<OpPtr> make_op(const Resize&, FieldKind);
Result<OpPtr> make_op(const CenterCrop&, FieldKind);
Result<OpPtr> make_op(const RandomCrop&, FieldKind);
Result<OpPtr> make_op(const RandomResizedCrop&, FieldKind);
Result<OpPtr> make_op(const RandomHorizontalFlip&, FieldKind);
Result<OpPtr> make_op(const RandomVerticalFlip&, FieldKind);
Result<OpPtr> make_op(const ColorJitter&, FieldKind);
Result<OpPtr> make_op(const Normalize&, FieldKind);
Result<OpPtr> make_op(const Cast&, FieldKind);
Result<OpPtr> make_op(const Pad&, FieldKind);
Result<OpPtr> make_op(const RandomFlip3D&, FieldKind);
Result<OpPtr> make_op(const RandomRot90&, FieldKind);
Result<OpPtr> make_op(const OneHot&, FieldKind);
Result<OpPtr> make_op(const Map&, FieldKind);
Result<OpPtr> make_op(const RandomErasing&, FieldKind);

inline Result<OpPtr> compile_op(const Transform& step, FieldKind kind) {
  return std::visit([kind](const auto& spec) { return make_op(spec, kind); }, step);
}

}  // namespace penstock
