// Normalize only adds a note to the view. The last copy applies it, or the next op that needs pixels. A mask is
// normalized like any other value.
#include "transform/ops/normalize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <vector>

#include "transform/ops/op_table.h"
#include "transform/packed_image.h"

namespace penstock {
namespace {

std::string describe_channels(const View& view) {
  const Shape shape = view.shape_vector();
  const int axis = view.is_image ? 2 : view.channel_axis.value_or(-1);
  if (axis < 0)
    return fmt::format("the value has shape {} and no {}axis of that many channels", shape,
                       view.channel_axis ? "" : "first or last ");
  return fmt::format("the value has shape {}, of which axis {} counts {} channels", shape, axis,
                     shape[static_cast<std::size_t>(axis)]);
}

class NormalizeOp final : public PixelOp {
 public:
  explicit NormalizeOp(const Normalize& spec) : factors_(spec) {}

  std::optional<std::uint64_t> fixed_fingerprint(std::uint64_t) const override { return std::nullopt; }
  TypeEffect type_effect() const override { return TypeEffect::kNormalizes; }
  bool only_changes_view() const override { return true; }  // the first Normalize of a program

  Status apply(View& view, const OpPlan&, Workspace& workspace) const override {
    if (view.dtype >= DType::kComplex64)
      return fail(ErrorCode::kUnsupported, "Normalize takes no complex numbers");
    if (view.affine.scale != nullptr) PENSTOCK_CHECK(make_float(view, workspace));
    const auto count = static_cast<std::int64_t>(factors_.bias.size());
    int axis = -1;
    if (view.is_image)
      axis = count == view.channels() ? 2 : -1;
    else if (view.channel_axis)
      axis = *view.channel_axis >= 0 && view.shape[static_cast<std::size_t>(*view.channel_axis)] == count
                 ? *view.channel_axis
                 : -1;
    else if (view.rank > 0)
      axis = view.shape[0] == count                                         ? 0
             : view.shape[static_cast<std::size_t>(view.rank) - 1] == count ? view.rank - 1
                                                                            : -1;
    if (axis < 0 && count != 1)
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("Normalize has {} means; {}", count, describe_channels(view)));
    const bool bytes = view.dtype == DType::kUInt8;
    const std::vector<float>& scale = bytes ? factors_.byte_scale : factors_.scale;
    view.affine = {scale.data(), factors_.bias.data(), count == 1 ? -1 : axis};
    return {};
  }

 private:
  NormalizeFactors factors_;
};

}  // namespace

NormalizeFactors::NormalizeFactors(const Normalize& spec) {
  for (std::size_t i = 0; i < spec.mean.size(); ++i) {
    const double deviation = spec.std[i];
    byte_scale.push_back(static_cast<float>(1.0 / (spec.max_value.value_or(255.0) * deviation)));
    scale.push_back(static_cast<float>(1.0 / (spec.max_value.value_or(1.0) * deviation)));
    bias.push_back(static_cast<float>(-spec.mean[i] / deviation));
  }
}

Result<OpPtr> make_op(const Normalize& spec, FieldKind) {
  if (spec.mean.empty() || spec.mean.size() != spec.std.size())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("Normalize: {} means and {} deviations", spec.mean.size(), spec.std.size()));
  for (std::size_t i = 0; i < spec.mean.size(); ++i)
    if (!std::isfinite(spec.mean[i]) || !std::isfinite(spec.std[i]) || spec.std[i] == 0)
      return fail(ErrorCode::kInvalidArgument,
                  "Normalize: means must be finite, deviations finite and not zero");
  if (spec.max_value && (!std::isfinite(*spec.max_value) || *spec.max_value == 0))
    return fail(ErrorCode::kInvalidArgument, "Normalize: max_value must be finite and not zero");
  return std::make_unique<NormalizeOp>(spec);
}

}  // namespace penstock
