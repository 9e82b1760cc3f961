// OneHot turns an integer label into a vector of zeros with a single one.
#include <fmt/format.h>

#include <cstring>

#include "transform/ops/op_table.h"

namespace penstock {
namespace {

class OneHotOp final : public PixelOp {
 public:
  explicit OneHotOp(int classes) : classes_(classes) {}

  std::optional<std::uint64_t> fixed_fingerprint(std::uint64_t) const override { return std::nullopt; }

  Status apply(View& view, const OpPlan&, Workspace& workspace) const override {
    if (view.rank != 0 || view.dtype != DType::kInt64)
      return fail(ErrorCode::kShapeMismatch, "OneHot needs an integer label");
    std::int64_t label = 0;
    std::memcpy(&label, view.data, sizeof label);
    if (label < 0 || label >= classes_)
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("label {} is not one of {} classes", label, classes_));
    const ArraySpec spec{DType::kFloat32, {classes_}};
    int buffer = -1;
    const auto memory = workspace.pixels_beside(view, spec.bytes(), buffer);
    if (!memory) return std::unexpected(memory.error());
    auto* out = reinterpret_cast<float*>(memory->data());
    std::memset(out, 0, spec.bytes());
    out[label] = 1;
    view = view_of_array(memory->data(), spec);
    view.buffer = buffer;
    return {};
  }

 private:
  int classes_;
};

}  // namespace

Result<OpPtr> make_op(const OneHot& spec, FieldKind) {
  if (spec.classes < 1)
    return fail(ErrorCode::kInvalidArgument, fmt::format("OneHot of {} classes", spec.classes));
  return std::make_unique<OneHotOp>(spec.classes);
}

}  // namespace penstock
