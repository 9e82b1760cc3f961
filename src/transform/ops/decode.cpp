// Decode: not an op, but how the program decodes. It says so wherever it is not the first transform.
#include "transform/ops/op_table.h"

namespace penstock {

Result<OpPtr> make_op(const Decode&, FieldKind) {
  return fail(ErrorCode::kInvalidArgument, "Decode must be the first transform of an image");
}

}  // namespace penstock
