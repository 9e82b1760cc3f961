// The part of a Program that plans: it makes frames and op plans from the size of an image and the draws of a sample.
#include "transform/program.h"

namespace penstock {
namespace {

// Returns the smallest size at which a decoder can give the pixels and that still exceeds the size that the resize
// needs.
int scale_denominator(const Frame& frame) {
  for (const int d : {8, 4, 2})
    if (frame.source.width / d >= frame.full_width && frame.source.height / d >= frame.full_height) return d;
  return 1;
}

void add_frame(const Frame& frame, int scale, std::size_t next_op, ProgramPlan& plan) {
  StepPlan& step = plan.add_step(next_op);
  step.is_frame = true;
  step.frame.assign(frame, scale);
}

}  // namespace

std::pair<int, int> Program::size_of_image(const ImageHeader& header) const {
  const bool turned = header.orientation_to_apply(decode_.exif_orientation) >= 5;
  return turned ? std::pair(header.height, header.width) : std::pair(header.width, header.height);
}

Result<std::size_t> Program::join_frame(std::size_t next, std::size_t last, Frame& frame, Draws& draws) const {
  for (; next < last; ++next) {
    const FrameOp* op = ops_[next]->as_frame_op();
    if (op == nullptr) break;
    draws.select_stream(op->stream());
    const auto joined = op->plan(frame, draws);
    if (!joined) return std::unexpected(joined.error());
    if (!*joined) break;
  }
  return next;
}

Status Program::plan_encoded(const ImageHeader& header, bool can_scale, std::size_t last, const Draws& draws,
                             ProgramPlan& plan) const {
  const auto [width, height] = size_of_image(header);
  plan.clear(0);
  Frame frame(width, height);
  Draws own = draws;
  const auto next = join_frame(0, last, frame, own);
  if (!next) return std::unexpected(next.error());
  const bool may_scale = decode_.fast_decode && can_scale && frame.resampled &&
                         header.orientation_to_apply(decode_.exif_orientation) == 1;
  plan.begin_encoded(may_scale ? scale_denominator(frame) : 1);
  add_frame(frame, plan.scale(), *next, plan);
  return plan_on(last, ImageSize{frame.height(), frame.width()}, own, plan);
}

Status Program::plan_value(std::size_t next, std::size_t last, std::optional<ImageSize> size, const Draws& draws,
                           ProgramPlan& plan) const {
  plan.clear(next);
  return plan_on(last, size, draws, plan);
}

Status Program::plan_on(std::size_t last, std::optional<ImageSize> size, Draws draws, ProgramPlan& plan) const {
  while (plan.end_op() < last) {
    const std::size_t next = plan.end_op();
    if (ops_[next]->needs_size() && !size) return {};
    if (const PixelOp* op = ops_[next]->as_pixel_op()) {
      draws.select_stream(op->stream());
      StepPlan& step = plan.add_step(next + 1);
      step.is_frame = false;
      step.op = op->plan(size, draws);
      size = op->planned_size_after(size, step.op);
      continue;
    }
    Frame frame(size->width, size->height);
    const auto end = join_frame(next, last, frame, draws);
    if (!end && plan.steps().empty()) return std::unexpected(end.error());
    if (!end) return {};
    add_frame(frame, 1, *end, plan);
    size = ImageSize{frame.height(), frame.width()};
  }
  return {};
}

Result<Program::FixedPart> Program::plan_fixed_part(ConstBytes encoded, ImageDecoder& decoder) const {
  const auto header = decoder.open(encoded);
  if (!header) return std::unexpected(header.error());
  const auto [width, height] = size_of_image(*header);
  return plan_fixed_part(width, height);
}

Result<Program::FixedPart> Program::plan_fixed_part(int width, int height) const {
  FixedPart part{{}, width, height};
  Draws none(0, 0, 0);
  for (std::size_t next = 0; next < fixed_steps_;) {
    if (ops_[next]->as_pixel_op() != nullptr) {
      if (const auto size = ops_[next++]->size_after(ImageSize{height, width})) {
        width = size->width;
        height = size->height;
      }
      continue;
    }
    Frame frame(width, height);
    const auto end = join_frame(next, fixed_steps_, frame, none);
    if (!end) return std::unexpected(end.error());
    next = *end;
    width = frame.width();
    height = frame.height();
  }
  part.spec = {DType::kUInt8, {height, width, decoded_channels()}};
  return part;
}

double Program::share_decoded(const FixedPart& part, Draws draws) const {
  Frame frame(part.width, part.height);
  if (!join_frame(0, part_end(0), frame, draws)) return 1;
  return static_cast<double>(frame.source.width) * frame.source.height /
         (static_cast<double>(part.width) * part.height);
}

}  // namespace penstock
