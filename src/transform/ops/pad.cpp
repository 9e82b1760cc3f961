// Pad adds a border of one value. A mask gets the same border.
#include <fmt/format.h>

#include <algorithm>

#include "transform/ops/op_table.h"
#include "transform/packed_image.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

class PadOp final : public PixelOp {
 public:
  explicit PadOp(const Pad& spec) : spec_(spec) {}

  // Pad is not random, but its result has more pixels than its input, so the result is not cached.
  std::optional<std::uint64_t> fixed_fingerprint(std::uint64_t) const override { return std::nullopt; }

  Status apply(View& view, const OpPlan&, Workspace& workspace) const override {
    PENSTOCK_CHECK(make_packed(view, workspace));
    const std::int64_t height = view.height() + spec_.top + spec_.bottom;
    const std::int64_t width = view.width() + spec_.left + spec_.right;
    const auto item = static_cast<std::int64_t>(size_of(view.dtype));
    const std::int64_t items = view.stride[1] / item, row = width * items * item;
    int buffer = -1;
    const auto memory = workspace.pixels_beside(view, static_cast<std::size_t>(row * height), buffer);
    if (!memory) return std::unexpected(memory.error());
    const auto total = static_cast<std::size_t>(width * items * height);
    if (view.dtype == DType::kUInt8)
      std::fill_n(reinterpret_cast<std::uint8_t*>(memory->data()), total,
                  static_cast<std::uint8_t>(std::clamp(spec_.fill, 0.0, 255.0)));
    else
      std::fill_n(reinterpret_cast<float*>(memory->data()), total, static_cast<float>(spec_.fill));
    View out = view_of_image(memory->data(), view.dtype, height, width, static_cast<int>(view.channels()),
                             static_cast<int>(items), row);
    out.buffer = buffer;
    View inner = out;
    inner.shape[0] = view.height();
    inner.shape[1] = view.width();
    copy_view(view, memory->data() + spec_.top * row + spec_.left * items * item, inner);
    view = out;
    return {};
  }

  std::optional<ImageSize> size_after(std::optional<ImageSize> before) const override {
    if (!before) return before;
    return ImageSize{before->height + spec_.top + spec_.bottom, before->width + spec_.left + spec_.right};
  }

 private:
  Pad spec_;
};

}  // namespace

Result<OpPtr> make_op(const Pad& spec, FieldKind) {
  constexpr int kMax = 1 << 15;
  for (const int side : {spec.left, spec.top, spec.right, spec.bottom})
    if (side < 0 || side > kMax)
      return fail(ErrorCode::kInvalidArgument, fmt::format("Pad by {}: wants 0 to {}", side, kMax));
  return std::make_unique<PadOp>(spec);
}

}  // namespace penstock
