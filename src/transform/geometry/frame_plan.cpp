#include "transform/geometry/frame_plan.h"

#include "transform/packed_image.h"

namespace penstock {
namespace {

// Whether pixels have three bytes, as in cached images and in arrays of shape (H, W, 3).
bool has_three_byte_pixels(const View& view) {
  return view.is_image && view.dtype == DType::kUInt8 && view.affine.scale == nullptr &&
         view.channels() == 3 && view.stride[1] == 3 && view.stride[2] == 1 && view.stride[0] > 0;
}

Status resample_once(const AxisPlan& across, const AxisPlan& down, View& view, Workspace& workspace) {
  const std::size_t items = view.channels() == 1 ? 1 : 4, pixel = items * size_of(view.dtype);
  const auto row =
      workspace.scratch.get(kScratchRow, static_cast<std::size_t>(across.end - across.begin + across.taps) *
                                             items * sizeof(float));
  if (!row) return std::unexpected(row.error());
  int buffer = -1;
  const auto memory = workspace.pixels_beside(view, across.first.size() * down.first.size() * pixel, buffer);
  if (!memory) return std::unexpected(memory.error());
  view = resample(view, across, down, memory->data(), reinterpret_cast<float*>(row->data()));
  view.buffer = buffer;
  return {};
}

// Computes the weights for pixels that were decoded at 1/scale of their size. The box keeps its exact, fractional
// position in the smaller image.
void plan_scaled_axis(AxisPlan& axis, int scale, int source_begin, int source_size, int full_size, int window_begin,
                      int window_size, const Frame& frame) {
  const int first = source_begin / scale, end = (source_begin + source_size + scale - 1) / scale;
  plan_axis(axis, static_cast<double>(source_begin % scale) / scale, static_cast<double>(source_size) / scale,
            end - first, full_size, window_begin, window_size, frame.interpolation, frame.antialias);
}

}  // namespace

void FramePlan::assign(const Frame& frame, int scale) {
  const Rect &source = frame.source, &window = frame.window;
  reads = source;
  resamples = frame.resampled;
  mirror_x = frame.mirror_x;
  mirror_y = frame.mirror_y;
  if (!resamples) return;
  if (scale == 1) {
    plan_axis(columns, 0, source.width, source.width, frame.full_width, window.x, window.width, frame.interpolation,
              frame.antialias);
    plan_axis(rows, 0, source.height, source.height, frame.full_height, window.y, window.height,
              frame.interpolation, frame.antialias);
    reads = {source.x + columns.begin, source.y + rows.begin, columns.end - columns.begin, rows.end - rows.begin};
    columns.rebase();
    rows.rebase();
  } else {
    plan_scaled_axis(columns, scale, source.x, source.width, frame.full_width, window.x, window.width, frame);
    plan_scaled_axis(rows, scale, source.y, source.height, frame.full_height, window.y, window.height, frame);
  }
  // A flip only reverses the order of outputs.
  if (mirror_x) columns.reverse();
  if (mirror_y) rows.reverse();
}

Status apply_frame(const FramePlan& plan, View& view, Workspace& workspace) {
  if (!plan.resamples) {
    if (plan.mirror_x) view.flip(1);
    if (plan.mirror_y) view.flip(0);
    return {};
  }
  if (!has_three_byte_pixels(view)) PENSTOCK_CHECK(make_packed(view, workspace));
  // Both directions are computed in one pass in floating point. The exception is a filter that overshoots: at hard
  // edges Pillow's clipping between the two directions is visible in the result, so it is done here too.
  if (!plan.columns.overshoots || view.dtype != DType::kUInt8)
    return resample_once(plan.columns, plan.rows, view, workspace);
  PENSTOCK_CHECK(resample_once(plan.columns, plan_identity(static_cast<int>(view.height())), view, workspace));
  return resample_once(plan_identity(static_cast<int>(view.width())), plan.rows, view, workspace);
}

}  // namespace penstock
