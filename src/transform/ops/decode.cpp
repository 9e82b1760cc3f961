// Decode is not an op: it sets how the program decodes. It fails if it is not the first transform.
#include "transform/ops/op_table.h"

namespace penstock {

Result<OpPtr> make_op(const Decode&, FieldKind) {
  return fail(ErrorCode::kInvalidArgument, "Decode must be the first transform of an image");
}

}  // namespace penstock
