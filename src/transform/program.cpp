#include "transform/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <tuple>

#include "transform/map_result.h"
#include "transform/orientation.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

struct OpMaker {
  bool is_mask;
  Result<OpPtr> operator()(const Resize& spec) const { return make_op(spec, is_mask); }
  Result<OpPtr> operator()(const RandomResizedCrop& spec) const { return make_op(spec, is_mask); }
  Result<OpPtr> operator()(const Decode&) const {
    return fail(ErrorCode::kInvalidArgument, "Decode must be the first transform of an image");
  }
  Result<OpPtr> operator()(const auto& spec) const { return make_op(spec); }
};

// What decides the pixels that come out of a step.
struct Fingerprint {
  std::uint64_t hash;
  std::uint64_t operator()(const Resize& spec) const {
    return mix({1, spec.height, spec.width, static_cast<int>(spec.interpolation), spec.antialias});
  }
  std::uint64_t operator()(const CenterCrop& spec) const { return mix({2, spec.height, spec.width}); }
  std::uint64_t operator()(const auto&) const { return hash; }
  std::uint64_t mix(std::initializer_list<int> numbers) const {
    std::uint64_t mixed = hash;
    for (const int number : numbers) mixed = mix64(mixed + static_cast<std::uint64_t>(number) + 1);
    return mixed;
  }
};

void plan_axes(const Frame& frame, Context& context) {
  plan_axis(context.columns, 0, frame.source.width, frame.source.width, frame.full_width, frame.window.x,
            frame.window.width, frame.interpolation, frame.antialias);
  plan_axis(context.rows, 0, frame.source.height, frame.source.height, frame.full_height, frame.window.y,
            frame.window.height, frame.interpolation, frame.antialias);
}

// As the cache keeps pictures, and NumPy people arrays of them.
bool is_three_bytes(const View& view) {
  return view.is_image && view.dtype == DType::kUInt8 && view.affine.scale == nullptr &&
         view.channels() == 3 && view.stride[1] == 3 && view.stride[2] == 1 && view.stride[0] > 0;
}

// The planned outputs from the view's pixels; a flip is only another order of outputs.
Status resample_planned(const Frame& frame, View& view, Context& context) {
  if (frame.mirror_x) context.columns.reverse();
  if (frame.mirror_y) context.rows.reverse();
  if (!is_three_bytes(view)) PENSTOCK_CHECK(make_packed(view, context));
  const AxisPlan &columns = context.columns, &rows = context.rows;
  const auto pass = [&](const AxisPlan& across, const AxisPlan& down) -> Status {
    const std::size_t items = view.channels() == 1 ? 1 : 4, pixel = items * size_of(view.dtype);
    const auto row =
        context.scratch.get(kScratchRow, static_cast<std::size_t>(across.end - across.begin + across.taps) *
                                             items * sizeof(float));
    if (!row) return std::unexpected(row.error());
    int buffer = -1;
    const auto memory = context.pixels_beside(view, across.first.size() * down.first.size() * pixel, buffer);
    if (!memory) return std::unexpected(memory.error());
    view = resample(view, across, down, memory->data(), reinterpret_cast<float*>(row->data()));
    view.buffer = buffer;
    return {};
  };
  // One pass in floating point, except where a filter overshoots: there Pillow's clipping between
  // the two directions shows at hard edges, and is done as well.
  if (!columns.overshoots || view.dtype != DType::kUInt8) return pass(columns, rows);
  PENSTOCK_CHECK(pass(columns, plan_identity(static_cast<int>(view.height()))));
  return pass(plan_identity(static_cast<int>(view.width())), rows);
}

void flip_view(const Frame& frame, View& view) {
  if (frame.mirror_x) view.flip(1);
  if (frame.mirror_y) view.flip(0);
}

Status make_pixels(const Frame& frame, View& view, Context& context) {
  const Rect& source = frame.source;
  view.data += source.y * view.stride[0] + source.x * view.stride[1];
  view.shape[0] = source.height;
  view.shape[1] = source.width;
  if (!frame.resampled) {
    flip_view(frame, view);
    return {};
  }
  plan_axes(frame, context);
  return resample_planned(frame, view, context);
}

bool is_whole_number(DType dtype) {
  return dtype != DType::kFloat16 && dtype != DType::kBFloat16 && dtype != DType::kFloat32 &&
         dtype != DType::kFloat64 && dtype != DType::kComplex64 && dtype != DType::kComplex128;
}

// The type that was asked for all batches must hold what the steps make. (A Cast says that the loss is
// meant: it cuts off fractions and stops at the ends of its type's range.)
Status check_type_of_batch(DType dtype, FieldKind kind, bool ends_normalized, bool has_fixed_type) {
  const std::string_view name = name_of(dtype);
  if (ends_normalized && is_whole_number(dtype))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("dtype=\"{0}\" cannot hold what Normalize makes, numbers around 0 with fractions; leave "
                            "dtype= out for float32, write dtype=\"float16\", or leave Normalize out. If whole "
                            "numbers are meant, end the steps with Cast(\"{0}\")",
                            name));
  const bool is_too_narrow = dtype == DType::kInt8 || dtype == DType::kBool;
  if (kind == FieldKind::kImage && has_fixed_type && is_too_narrow)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("dtype=\"{0}\" cannot hold pixels, which are 0 to 255; write dtype=\"uint8\" or a "
                            "wider type. If the loss is meant, end the steps with Cast(\"{0}\")",
                            name));
  return {};
}

int scale_denominator(const Frame& frame) {
  for (const int d : {8, 4, 2})
    if (frame.source.width / d >= frame.full_width && frame.source.height / d >= frame.full_height) return d;
  return 1;
}

}  // namespace

Result<Program> Program::compile(const std::vector<Transform>& steps, const ProgramOptions& options) {
  Program program;
  program.kind_ = options.kind;
  program.layout_ = options.layout;
  program.dtype_ = options.dtype;
  std::size_t begin = 0, end = steps.size();
  if (end > 0 && std::holds_alternative<Decode>(steps[0])) {
    if (options.kind != FieldKind::kImage && options.kind != FieldKind::kMask)
      return fail(ErrorCode::kInvalidArgument, "Decode works on encoded images only");
    program.decode_ = std::get<Decode>(steps[0]);
    begin = 1;
  }
  const bool ends_with_cast = end > begin && std::holds_alternative<Cast>(steps[end - 1]);
  if (ends_with_cast)
    program.dtype_ = std::get<Cast>(steps[--end]).dtype;
  program.fixed_fingerprint_ =
      Fingerprint{0}.mix({static_cast<int>(options.kind), static_cast<int>(program.decode_.mode),
                          program.decode_.exif_orientation});
  std::map<std::size_t, std::uint32_t> occurrences;
  bool ends_normalized = false;  // no later step has made another type of it
  for (std::size_t i = begin; i < end; ++i) {
    if (is_joint_map(steps[i])) {
      program.joint_at_.push_back(program.ops_.size());
      program.only_changes_view_ = program.has_fixed_type_ = false;
      continue;
    }
    const std::size_t type = steps[i].index();
    auto op = std::visit(OpMaker{options.kind == FieldKind::kMask}, steps[i]);
    if (!op) return std::unexpected(std::move(op).error());
    (*op)->set_stream(static_cast<std::uint32_t>(type) << 8 | (occurrences[type]++ & 0xFF));
    const bool is_second_normalize = program.normalizes_ && std::holds_alternative<Normalize>(steps[i]);
    program.only_changes_view_ =
        program.only_changes_view_ && (*op)->only_changes_view() && !is_second_normalize;
    if (program.joint_at_.empty() && program.fixed_steps_ == program.ops_.size() && (*op)->is_fixed()) {
      ++program.fixed_steps_;
      program.fixed_fingerprint_ = std::visit(Fingerprint{program.fixed_fingerprint_}, steps[i]);
    }
    program.ops_.push_back(std::move(*op));
    program.normalizes_ = program.normalizes_ || std::holds_alternative<Normalize>(steps[i]);
    ends_normalized = ends_normalized || std::holds_alternative<Normalize>(steps[i]);
    if (std::holds_alternative<Map>(steps[i]) || std::holds_alternative<Cast>(steps[i]))
      program.has_fixed_type_ = ends_normalized = false;
  }
  if (options.dtype && !ends_with_cast)
    PENSTOCK_CHECK(
        check_type_of_batch(*options.dtype, options.kind, ends_normalized, program.has_fixed_type_));
  return program;
}

Result<Frame> Program::plan_steps(std::size_t& next, std::size_t last, Frame frame, Draws& draws) const {
  while (next < last && ops_[next]->is_geometric()) {
    draws.select_stream(ops_[next]->stream());
    const auto planned = ops_[next]->plan(frame, draws);
    if (!planned) return std::unexpected(planned.error());
    if (!*planned) break;
    ++next;
  }
  return frame;
}

// Width and height as they are seen.
std::pair<int, int> Program::size_of_image(const ImageHeader& header) const {
  const bool turned = header.orientation_to_apply(decode_.exif_orientation) >= 5;
  return turned ? std::pair(header.height, header.width) : std::pair(header.width, header.height);
}

// Masks are cut as their images are.
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
  const std::pair size = size_of_image(*header);
  PENSTOCK_CHECK(check_size(size, context));
  std::size_t next = 0;
  const auto frame = plan_steps(next, last, Frame(size.first, size.second), context.draws);
  if (!frame) return std::unexpected(frame.error());
  auto view = decode_frame(*frame, *header, decoder, context);
  if (!view) return view;
  PENSTOCK_CHECK(run_steps(next, last, *view, context));
  return view;
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
    const auto frame = plan_steps(next, fixed_steps_, Frame(width, height), none);
    if (!frame) return std::unexpected(frame.error());
    width = frame->width();
    height = frame->height();
  }
  const int channels = kind_ == FieldKind::kMask || decode_.mode == ColorMode::kGrey ? 1 : 3;
  part.spec = {DType::kUInt8, {height, width, channels}};
  return part;
}

double Program::share_decoded(const FixedPart& part, Draws draws) const {
  std::size_t next = 0;
  const auto frame = plan_steps(next, part_end(0), Frame(part.width, part.height), draws);
  if (!frame) return 1;
  return static_cast<double>(frame->source.width) * frame->source.height /
         (static_cast<double>(part.width) * part.height);
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

// Decodes the pixels that the frame needs and, where it resizes, resamples them.
Result<View> Program::decode_frame(const Frame& frame, const ImageHeader& header, ImageDecoder& decoder,
                                   Context& context) const {
  const int stored_orientation = header.orientation_to_apply(decode_.exif_orientation);
  const Orientation orientation(stored_orientation);
  Rect wanted = frame.source;
  const bool may_scale = decode_.fast_decode && frame.resampled && decoder.can_scale() &&
                         stored_orientation == 1;
  const int scale = may_scale ? scale_denominator(frame) : 1;
  if (frame.resampled && scale == 1) {
    plan_axes(frame, context);
    const AxisPlan &columns = context.columns, &rows = context.rows;
    wanted = {wanted.x + columns.begin, wanted.y + rows.begin, columns.end - columns.begin,
              rows.end - rows.begin};
    context.columns.rebase();
    context.rows.rebase();
  }
  const PixelFormat format = kind_ == FieldKind::kMask          ? PixelFormat::kIndex
                             : decode_.mode == ColorMode::kGrey ? PixelFormat::kGrey
                                                                : PixelFormat::kRgbx;
  const DecodeRequest request{orientation.to_stored(wanted, header.width, header.height), format, scale};
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
  if (!frame.resampled) {
    flip_view(frame, view);
    return view;
  }
  if (scale > 1) {
    // The box keeps its exact, fractional place within the smaller pixels.
    const auto plan = [&](AxisPlan& axis, int source, int source_size, std::int64_t input, int full, int from,
                          int size) {
      const double offset = static_cast<double>(source % scale) / scale;
      plan_axis(axis, offset, static_cast<double>(source_size) / scale, static_cast<int>(input), full, from,
                size, frame.interpolation, frame.antialias);
    };
    plan(context.columns, wanted.x, wanted.width, view.width(), frame.full_width, frame.window.x,
         frame.window.width);
    plan(context.rows, wanted.y, wanted.height, view.height(), frame.full_height, frame.window.y,
         frame.window.height);
  }
  PENSTOCK_CHECK(resample_planned(frame, view, context));
  return view;
}

Status Program::run_steps(std::size_t next, std::size_t last, View& value, Context& context) const {
  while (next < last) {
    if (!ops_[next]->is_geometric()) {
      context.draws.select_stream(ops_[next]->stream());
      PENSTOCK_CHECK(ops_[next]->apply(value, context));
      ++next;
      continue;
    }
    PENSTOCK_CHECK(make_image(value, context));
    const Frame whole(static_cast<int>(value.width()), static_cast<int>(value.height()));
    const auto frame = plan_steps(next, last, whole, context.draws);
    if (!frame) return std::unexpected(frame.error());
    PENSTOCK_CHECK(make_pixels(*frame, value, context));
  }
  return {};
}

std::optional<ArraySpec> Program::fixed_spec() const {
  if (kind_ != FieldKind::kImage && kind_ != FieldKind::kMask) return std::nullopt;
  if (!has_fixed_type_) return std::nullopt;
  std::optional<FixedSize> size;
  for (const auto& op : ops_) size = op->size_after(size);
  if (!size) return std::nullopt;
  View value;
  value.is_image = true;
  value.rank = 3;
  value.shape = {size->height, size->width,
                 kind_ == FieldKind::kMask || decode_.mode == ColorMode::kGrey ? 1 : 3};
  ArraySpec spec = spec_of(value);
  if (normalizes_ && !dtype_) spec.dtype = DType::kFloat32;
  return spec;
}

std::optional<ArraySpec> Program::spec_from(const ArrayLayout& stored) const {
  if (!only_changes_view_) return std::nullopt;
  View value = view_of_array(nullptr, stored.spec);
  describe_axes(value, stored);
  Ledger ledger(0);
  ScratchBudget none(ledger, 0, 0);
  Scratch scratch(none);
  WorkerCounters counters;
  StageClock clock(counters);
  Context context(scratch, clock);
  // Turns change the shape with the draw, unless the sides are equal: what two draws agree on is fixed.
  std::optional<ArraySpec> spec;
  for (std::uint64_t draw = 0; draw < 8; ++draw) {
    View seen = value;
    context.draws = Draws(draw, 0, 0);
    if (!run(seen, context)) return std::nullopt;
    const ArraySpec now = spec_of(seen);
    if (spec && *spec != now) return std::nullopt;
    spec = now;
  }
  return spec;
}

ArraySpec Program::spec_of(const View& value) const {
  ArraySpec spec;
  spec.dtype = dtype_ ? *dtype_ : value.affine.scale ? DType::kFloat32 : value.dtype;
  if (kind_ == FieldKind::kMask && value.is_image)
    spec.shape = {value.height(), value.width()};
  else if (value.is_image && layout_ == Layout::kNchw)
    spec.shape = {value.channels(), value.height(), value.width()};
  else
    spec.shape = value.shape_vector();
  return spec;
}

Status Program::store(const View& value, const ArraySpec& spec, MutableBytes slot) const {
  const ArraySpec own = spec_of(value);
  if (own != spec)
    return fail(ErrorCode::kShapeMismatch,
                fmt::format("sample is {} {}, the batch has {} {}; resize or crop to one size, or "
                            "collate=\"pad\" or \"list\"",
                            name_of(own.dtype), own.shape, name_of(spec.dtype), spec.shape));
  if (!can_convert(value.affine.scale ? DType::kFloat32 : value.dtype, spec.dtype))
    return fail(ErrorCode::kUnsupported, "complex numbers are only stored as themselves");
  View target = view_of_array(slot.data(), spec);
  if (value.is_image && kind_ != FieldKind::kMask && layout_ == Layout::kNchw) {
    target.shape = {value.height(), value.width(), value.channels()};
    target.stride = {target.stride[1], target.stride[2], target.stride[0]};
  } else if (value.is_image && kind_ == FieldKind::kMask) {
    target.rank = 3;
    target.shape[2] = 1;
    target.stride[2] = static_cast<std::int64_t>(size_of(spec.dtype));
  }
  copy_view(value, slot.data(), target);
  return {};
}

}  // namespace penstock
