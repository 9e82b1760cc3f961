#include "transform/packed_image.h"

#include "transform/write_slot.h"

namespace penstock {
namespace {

bool is_packed(const View& view) {
  const auto item = static_cast<std::int64_t>(size_of(view.dtype));
  if (!view.is_image || view.affine.scale != nullptr || view.swap_bytes) return false;
  if (view.dtype != DType::kUInt8 && view.dtype != DType::kFloat32) return false;
  const bool one = view.channels() == 1 && view.stride[1] == item;
  const bool four = view.channels() > 1 && view.stride[1] == 4 * item;
  return (one || four) && view.stride[2] == item && view.stride[0] > 0;
}

// NumPy users store images as arrays of shape (H, W) or (H, W, C).
Status see_as_image(View& view) {
  if (view.is_image) return {};
  if (view.rank == 2) {
    view.rank = 3;
    view.shape[2] = 1;
    view.stride[2] = static_cast<std::int64_t>(size_of(view.dtype));
  }
  if (view.rank != 3 || view.channels() > 4 || view.channels() < 1)
    return fail(ErrorCode::kShapeMismatch,
                "image transforms need an image, or an array of shape (H, W) or (H, W, 1-4)");
  view.is_image = true;
  return {};
}

}  // namespace

Result<std::byte*> copy_packed(View& view, Workspace& workspace, DType dtype) {
  const int channels = static_cast<int>(view.channels());
  const int items = channels == 1 ? 1 : 4;
  const auto row_bytes = view.width() * items * static_cast<std::int64_t>(size_of(dtype));
  int buffer = -1;
  const auto memory =
      workspace.pixels_beside(view, static_cast<std::size_t>(row_bytes * view.height()), buffer);
  if (!memory) return std::unexpected(memory.error());
  View out = view_of_image(memory->data(), dtype, view.height(), view.width(), channels, items, row_bytes);
  out.buffer = buffer;
  copy_view(view, memory->data(), out);
  view = out;
  return memory->data();
}

Status make_image(View& view, Workspace& workspace) {
  PENSTOCK_CHECK(see_as_image(view));
  const bool is_number = view.dtype == DType::kUInt8 || (view.dtype == DType::kFloat32 && !view.swap_bytes);
  if (is_number && view.affine.scale == nullptr) return {};
  return make_packed(view, workspace);
}

Status make_packed(View& view, Workspace& workspace) {
  PENSTOCK_CHECK(see_as_image(view));
  if (is_packed(view)) return {};
  const bool bytes = view.dtype == DType::kUInt8 && view.affine.scale == nullptr;
  PENSTOCK_CHECK(copy_packed(view, workspace, bytes ? DType::kUInt8 : DType::kFloat32));
  return {};
}

Status make_float(View& view, Workspace& workspace) {
  if (view.dtype == DType::kFloat32 && view.affine.scale == nullptr && !view.swap_bytes) return {};
  if (view.is_image) {
    PENSTOCK_CHECK(copy_packed(view, workspace, DType::kFloat32));
    return {};
  }
  const ArraySpec spec{DType::kFloat32, view.shape_vector()};
  int buffer = -1;
  const auto memory = workspace.pixels_beside(view, spec.bytes(), buffer);
  if (!memory) return std::unexpected(memory.error());
  View out = view_of_array(memory->data(), spec);
  out.buffer = buffer;
  keep_axes(out, view);
  copy_view(view, memory->data(), out);
  view = out;
  return {};
}

}  // namespace penstock
