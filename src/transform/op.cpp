#include "transform/op.h"

#include <fmt/format.h>

#include <cstring>

#include "transform/write_slot.h"

namespace penstock {

Status check_sides(const char* name, int height, int width) {
  const auto most = static_cast<int>(Limits{}.image_side);
  if (height >= 1 && width >= 1 && height <= most && width <= most) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} of {}x{}: sides are 1 to {}", name, height, width, most));
}

Result<MutableBytes> Context::pixels_beside(const View& view, std::size_t bytes, int& buffer) {
  for (buffer = kScratchPixels0; buffer == view.buffer || buffer == keep_buffer;) ++buffer;
  return scratch.get(buffer, bytes);
}

namespace {

bool is_packed(const View& view) {
  const auto item = static_cast<std::int64_t>(size_of(view.dtype));
  if (!view.is_image || view.affine.scale != nullptr || view.swap_bytes) return false;
  if (view.dtype != DType::kUInt8 && view.dtype != DType::kFloat32) return false;
  const bool one = view.channels() == 1 && view.stride[1] == item;
  const bool four = view.channels() > 1 && view.stride[1] == 4 * item;
  return (one || four) && view.stride[2] == item && view.stride[0] > 0;
}

// Copies an image into four-item (or one-item) pixels of its own type, or float32.
Status copy_packed(View& view, Context& context, DType dtype) {
  const int channels = static_cast<int>(view.channels());
  const int items = channels == 1 ? 1 : 4;
  const auto row_bytes = view.width() * items * static_cast<std::int64_t>(size_of(dtype));
  int buffer = -1;
  const auto memory =
      context.pixels_beside(view, static_cast<std::size_t>(row_bytes * view.height()), buffer);
  if (!memory) return std::unexpected(memory.error());
  View out = view_of_image(memory->data(), dtype, view.height(), view.width(), channels, items, row_bytes);
  out.buffer = buffer;
  copy_view(view, memory->data(), out);
  view = out;
  return {};
}

}  // namespace

namespace {

// An array of (H, W) or (H, W, C) is an image as NumPy people store them.
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

Status make_image(View& view, Context& context) {
  PENSTOCK_CHECK(see_as_image(view));
  const bool is_number = view.dtype == DType::kUInt8 || (view.dtype == DType::kFloat32 && !view.swap_bytes);
  if (is_number && view.affine.scale == nullptr) return {};
  return make_packed(view, context);
}

Status make_packed(View& view, Context& context) {
  PENSTOCK_CHECK(see_as_image(view));
  if (is_packed(view)) return {};
  const bool bytes = view.dtype == DType::kUInt8 && view.affine.scale == nullptr;
  return copy_packed(view, context, bytes ? DType::kUInt8 : DType::kFloat32);
}

Status make_float(View& view, Context& context) {
  if (view.dtype == DType::kFloat32 && view.affine.scale == nullptr && !view.swap_bytes) return {};
  if (view.is_image) return copy_packed(view, context, DType::kFloat32);
  const ArraySpec spec{DType::kFloat32, view.shape_vector()};
  int buffer = -1;
  const auto memory = context.pixels_beside(view, spec.bytes(), buffer);
  if (!memory) return std::unexpected(memory.error());
  View out = view_of_array(memory->data(), spec);
  out.buffer = buffer;
  keep_axes(out, view);
  copy_view(view, memory->data(), out);
  view = out;
  return {};
}

}  // namespace penstock
