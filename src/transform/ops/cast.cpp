// Cast in the middle of a list. At the end of a list it costs nothing, because the last copy converts.
#include "transform/ops/op_table.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

class CastOp final : public PixelOp {
 public:
  explicit CastOp(DType dtype) : dtype_(dtype) {}

  std::optional<std::uint64_t> fixed_fingerprint(std::uint64_t) const override { return std::nullopt; }
  TypeEffect type_effect() const override { return TypeEffect::kUnknown; }

  Status apply(View& view, const OpPlan&, Workspace& workspace) const override {
    const DType from = view.affine.scale != nullptr ? DType::kFloat32 : view.dtype;
    if (!can_convert(from, dtype_))
      return fail(ErrorCode::kUnsupported, "complex numbers are only stored as themselves");
    const ArraySpec spec{dtype_, view.shape_vector()};
    int buffer = -1;
    const auto memory = workspace.pixels_beside(view, spec.bytes(), buffer);
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

Result<OpPtr> make_op(const Cast& spec, FieldKind) { return std::make_unique<CastOp>(spec.dtype); }

}  // namespace penstock
