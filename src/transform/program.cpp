#include "transform/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "transform/map_result.h"
#include "transform/ops/fingerprint.h"
#include "transform/ops/op_table.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

bool is_whole_number(DType dtype) {
  return dtype != DType::kFloat16 && dtype != DType::kBFloat16 && dtype != DType::kFloat32 &&
         dtype != DType::kFloat64 && dtype != DType::kComplex64 && dtype != DType::kComplex128;
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
  // A Cast at the end is left to the copy into the batch, which converts anyway.
  const bool ends_with_cast = end > begin && std::holds_alternative<Cast>(steps[end - 1]);
  if (ends_with_cast) program.dtype_ = std::get<Cast>(steps[--end]).dtype;
  program.fixed_fingerprint_ = mix_fingerprint(0, {static_cast<int>(options.kind), static_cast<int>(program.decode_.mode),
                                                   program.decode_.exif_orientation});
  std::map<std::size_t, std::uint32_t> occurrences;
  for (std::size_t i = begin; i < end; ++i) {
    if (is_joint_map(steps[i])) {
      program.joint_at_.push_back(program.ops_.size());
      program.only_changes_view_ = program.has_fixed_type_ = false;
      continue;
    }
    const std::size_t type = steps[i].index();
    PENSTOCK_CHECK(
        program.add_op(steps[i], static_cast<std::uint32_t>(type) << 8 | (occurrences[type]++ & 0xFF)));
  }
  if (options.dtype && !ends_with_cast) PENSTOCK_CHECK(program.check_type_of_batch());
  return program;
}

Status Program::add_op(const Transform& step, std::uint32_t stream) {
  auto made = compile_op(step, kind_);
  if (!made) return std::unexpected(std::move(made).error());
  OpPtr op = std::move(*made);
  if (!op) return {};  // the transform does not change fields of this kind
  op->set_stream(stream);
  const TypeEffect effect = op->type_effect();
  const bool is_second_normalize = normalizes_ && effect == TypeEffect::kNormalizes;
  only_changes_view_ = only_changes_view_ && op->only_changes_view() && !is_second_normalize;
  if (joint_at_.empty() && fixed_steps_ == ops_.size())
    if (const auto fingerprint = op->fixed_fingerprint(fixed_fingerprint_)) {
      ++fixed_steps_;
      fixed_fingerprint_ = *fingerprint;
    }
  if (effect == TypeEffect::kNormalizes) normalizes_ = ends_normalized_ = true;
  if (effect == TypeEffect::kUnknown) has_fixed_type_ = ends_normalized_ = false;
  ops_.push_back(std::move(op));
  transforms_.push_back(step);
  return {};
}

Status Program::check_type_of_batch() const {
  const DType dtype = *dtype_;
  const std::string_view name = name_of(dtype);
  if (ends_normalized_ && is_whole_number(dtype))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("dtype=\"{0}\" cannot hold what Normalize makes, numbers around 0 with fractions; leave "
                            "dtype= out for float32, write dtype=\"float16\", or leave Normalize out. If whole "
                            "numbers are meant, end the steps with Cast(\"{0}\")",
                            name));
  const bool is_too_narrow = dtype == DType::kInt8 || dtype == DType::kBool;
  if (kind_ == FieldKind::kImage && has_fixed_type_ && is_too_narrow)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("dtype=\"{0}\" cannot hold pixels, which are 0 to 255; write dtype=\"uint8\" or a "
                            "wider type. If the loss is meant, end the steps with Cast(\"{0}\")",
                            name));
  return {};
}

std::optional<ArraySpec> Program::fixed_spec() const {
  if (kind_ != FieldKind::kImage && kind_ != FieldKind::kMask) return std::nullopt;
  if (!has_fixed_type_) return std::nullopt;
  std::optional<ImageSize> size;
  for (const auto& op : ops_) size = op->size_after(size);
  if (!size) return std::nullopt;
  View value;
  value.is_image = true;
  value.rank = 3;
  value.shape = {size->height, size->width, decoded_channels()};
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
  // The shape after a rotation depends on the draw, unless both sides are equal. If all draws give the same shape, the
  // shape is fixed.
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
