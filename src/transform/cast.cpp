// Cast in the middle of a list. (At the end it costs nothing: the last copy converts.)
#include "transform/op.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

class CastOp final : public Op {
 public:
  explicit CastOp(DType dtype) : dtype_(dtype) {}

  Status apply(View& view, Context& context) const override {
    const DType from = view.affine.scale != nullptr ? DType::kFloat32 : view.dtype;
    if (!can_convert(from, dtype_))
      return fail(ErrorCode::kUnsupported, "complex numbers are only stored as themselves");
    const ArraySpec spec{dtype_, view.shape_vector()};
    int buffer = -1;
    const auto memory = context.pixels_beside(view, spec.bytes(), buffer);
    if (!memory) return std::unexpected(memory.error());
    View out = view_of_array(memory->data(), spec);
    out.is_image = view.is_image;
    keep_axes(out, view);
    out.buffer = buffer;
    copy_view(view, memory->data(), out);
    view = out;
    return {};
  }

 private:
  DType dtype_;
};

}  // namespace

Result<OpPtr> make_op(const Cast& spec) { return std::make_unique<CastOp>(spec.dtype); }

}  // namespace penstock
