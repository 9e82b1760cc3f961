// The part of a Program that makes pixels: it decodes the pixels that a plan needs, and runs the plan.
#include <fmt/format.h>

#include "transform/geometry/orientation.h"
#include "transform/packed_image.h"
#include "transform/program.h"

namespace penstock {
namespace {

void crop_view(View& view, const Rect& rect) {
  view.data += rect.y * view.stride[0] + rect.x * view.stride[1];
  view.shape[0] = rect.height;
  view.shape[1] = rect.width;
}

std::optional<ImageSize> size_of_value(const View& value) {
  if (!value.is_image) return std::nullopt;
  return ImageSize{static_cast<int>(value.height()), static_cast<int>(value.width())};
}

}  // namespace

Status Program::check_size(std::pair<int, int> size, Context& context) const {
  if (!context.picture) context.picture = size;
  if (kind_ != FieldKind::kMask || *context.picture == size) return {};
  return fail(ErrorCode::kShapeMismatch,
              fmt::format("the mask has {}x{} pixels, its image {}x{}: they would not be cut alike",
                          size.first, size.second, context.picture->first, context.picture->second));
}

Result<View> Program::decode_and_run(ConstBytes encoded, ImageDecoder& decoder, Context& context,
                                     std::size_t last) const {
  const auto header = decoder.open(encoded);
  if (!header) return std::unexpected(header.error());
  PENSTOCK_CHECK(context.scratch.charge(header->working_bytes));
  PENSTOCK_CHECK(check_size(size_of_image(*header), context));
  PENSTOCK_CHECK(plan_encoded(*header, decoder.can_scale(), last, context.draws, context.plan));
  auto view = decode(context.plan, *header, decoder, context);
  if (!view) return view;
  PENSTOCK_CHECK(run_planned(context.plan, *view, context));
  PENSTOCK_CHECK(run_steps(context.plan.end_op(), last, *view, context));
  return view;
}

Result<View> Program::decode(const ProgramPlan& plan, const ImageHeader& header, ImageDecoder& decoder,
                             Context& context) const {
  const Orientation orientation(header.orientation_to_apply(decode_.exif_orientation));
  const PixelFormat format = kind_ == FieldKind::kMask          ? PixelFormat::kIndex
                             : decode_.mode == ColorMode::kGrey ? PixelFormat::kGrey
                                                                : PixelFormat::kRgbx;
  const Rect& wanted = plan.steps().front().frame.reads;
  const DecodeRequest request{orientation.to_stored(wanted, header.width, header.height), format, plan.scale()};
  const auto buffer = context.scratch.get(kScratchDecoded, decoder.buffer_bytes(request));
  if (!buffer) return std::unexpected(buffer.error());
  const auto pixels = decoder.decode(request, *buffer);
  if (!pixels) return std::unexpected(pixels.error());
  const int items = bytes_per_pixel(format);
  View view = view_of_image(pixels->data, DType::kUInt8, pixels->height, pixels->width, items == 4 ? 3 : 1,
                            items, pixels->row_stride);
  view.buffer = kScratchDecoded;
  orientation.apply(view);
  context.clock.mark(Stage::kDecode, static_cast<std::uint64_t>(view.height() * view.width() * items));
  return view;
}

Status Program::run_planned(const ProgramPlan& plan, View& value, Workspace& workspace) const {
  bool is_cut = plan.begins_encoded();  // the decoder gave only the pixels of the first frame
  for (const StepPlan& step : plan.steps()) {
    if (!step.is_frame) {
      PENSTOCK_CHECK(ops_[step.first_op]->as_pixel_op()->apply(value, step.op, workspace));
      continue;
    }
    if (!is_cut) {
      PENSTOCK_CHECK(make_image(value, workspace));
      crop_view(value, step.frame.reads);
    }
    is_cut = false;
    PENSTOCK_CHECK(apply_frame(step.frame, value, workspace));
  }
  return {};
}

Status Program::run_steps(std::size_t next, std::size_t last, View& value, Context& context) const {
  while (next < last) {
    if (ops_[next]->needs_size()) PENSTOCK_CHECK(make_image(value, context));
    PENSTOCK_CHECK(plan_value(next, last, size_of_value(value), context.draws, context.plan));
    PENSTOCK_CHECK(run_planned(context.plan, value, context));
    next = context.plan.end_op();
  }
  return {};
}

Result<View> Program::run_from_fixed(const FixedPart& part, const std::byte* pixels, Context& context) const {
  PENSTOCK_CHECK(check_size({part.width, part.height}, context));
  const Shape& shape = part.spec.shape;
  const auto channels = static_cast<int>(shape[2]);
  View view =
      view_of_image(pixels, part.spec.dtype, shape[0], shape[1], channels, channels, shape[1] * channels);
  PENSTOCK_CHECK(run_rest(view, context));
  return view;
}

}  // namespace penstock
