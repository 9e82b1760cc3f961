#include "sample/sample_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "penstock/interruption.h"

namespace penstock {
namespace {

constexpr std::uint64_t kSamplesToProbe = 32;
constexpr std::uint64_t kMinTextBytes = 1024;  // estimate for a caption; longer texts only shorten the queue

bool can_hold(DType dtype, double value) {
  const auto within = [&](double least, double most) {
    return value >= least && value <= most && value == std::floor(value);
  };
  switch (dtype) {
    case DType::kBool: return within(0, 1);
    case DType::kUInt8: return within(0, 255);
    case DType::kInt8: return within(-128, 127);
    case DType::kUInt16: return within(0, 65535);
    case DType::kInt16: return within(-32768, 32767);
    case DType::kUInt32: return within(0, 4294967295.0);
    case DType::kInt32: return within(-2147483648.0, 2147483647.0);
    case DType::kUInt64: return within(0, 0x1p53);
    case DType::kInt64: return within(-0x1p53, 0x1p53);
    default: return true;
  }
}

// Returns the type and shape that all samples have, if it is known without looking at one.
std::optional<ArraySpec> fixed_spec(const SamplePlan& plan, const FieldPlan& field) {
  if (field.kind == FieldKind::kInteger && field.program.keeps(DType::kInt64))
    return ArraySpec{DType::kInt64, {}};
  const bool is_array = field.kind == FieldKind::kArray || field.form == FieldForm::kChunks;
  const ArrayLayout* layout = is_array && field.source_field >= 0
                                  ? plan.source->array_layout(static_cast<std::size_t>(field.source_field))
                                  : nullptr;
  if (layout && (field.form == FieldForm::kElements || field.form == FieldForm::kChunks) &&
      field.program.keeps(layout->spec.dtype))
    return layout->spec;
  if (layout && field.form == FieldForm::kChunks) return field.program.spec_from(*layout);
  return field.program.fixed_spec();
}

bool holds_times(const SamplePlan& plan, const FieldPlan& field) {
  if (field.source_field < 0) return false;
  const ArrayLayout* layout = plan.source->array_layout(static_cast<std::size_t>(field.source_field));
  return layout != nullptr && layout->is_time;
}

}  // namespace

Result<SampleShape> find_shape(const SamplePlan& plan, const LoaderOptions& options,
                               const ProbeMemory& memory, const SharedReads& shared) {
  std::vector<std::optional<ArraySpec>> specs(plan.fields.size());
  std::vector<FieldKind> kinds(plan.fields.size());
  bool complete = true;
  for (std::size_t i = 0; i < plan.fields.size(); ++i) {
    const FieldPlan& field = plan.fields[i];
    kinds[i] = field.kind;
    if (!field.is_delivered || (field.kind >= FieldKind::kText && field.joint_maps.empty())) continue;
    specs[i] = fixed_spec(plan, field);
    complete = complete && specs[i];
  }
  const std::vector<std::optional<ArraySpec>> fixed = specs;
  if (!complete) {
    ScratchBudget budget(memory.ledger, memory.bytes, 0);
    WorkerCounters counters;
    SampleWorker worker(plan, budget, counters, shared);
    const std::uint64_t tries = std::min(plan.source->size(), kSamplesToProbe);
    std::optional<Error> first_error;
    Result<std::vector<MeasuredField>> measured;
    for (std::uint64_t sample = 0; sample < tries; ++sample) {
      measured = worker.measure(shared.streams ? sample : sample * plan.source->size() / tries);
      if (measured) break;
      // kStopped means Ctrl-C and not a bad sample, so the next sample is not tried.
      if (measured.error().code == ErrorCode::kStopped) return std::unexpected(measured.error());
      PENSTOCK_CHECK(check_interruption(plan.source->uri()));
      if (!first_error) first_error = measured.error();
    }
    if (!measured) return std::unexpected(*first_error);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (!specs[i]) specs[i] = (*measured)[i].spec;
      if (!plan.fields[i].joint_maps.empty()) kinds[i] = (*measured)[i].kind;
    }
  }
  const auto delivered =
      static_cast<std::size_t>(std::ranges::count_if(plan.delivered_as, [](int i) { return i >= 0; }));
  std::vector<std::size_t> plan_field(delivered);
  for (std::size_t i = 0; i < plan.fields.size(); ++i)
    if (plan.delivered_as[i] >= 0) plan_field[static_cast<std::size_t>(plan.delivered_as[i])] = i;
  SampleShape shape;
  for (const std::size_t i : plan_field) {
    LayoutField field;
    field.field.name = plan.fields[i].name;
    field.field.kind = kinds[i];
    if (field.field.kind >= FieldKind::kText) {
      field.placement = Placement::kText;
      field.field.form = BatchForm::kTexts;
      shape.variable_bytes += kMinTextBytes;
    } else {
      field.field.spec = *specs[i];
      field.field.is_time = holds_times(plan, plan.fields[i]) && specs[i]->dtype == DType::kInt64;
      const bool varies = !fixed[i] && !specs[i]->shape.empty();
      // A batch of one sample has the shape of that sample, so nothing needs to be stacked.
      if (varies && (options.collate != Collate::kStack || options.batch_size == 1)) {
        // The minimum is for the case that the measured sample is empty.
        shape.variable_bytes += std::max<std::uint64_t>(specs[i]->bytes(), kMinTextBytes) *
                                (options.collate == Collate::kPad ? 2 : 1);
        field.placement = options.collate == Collate::kPad ? Placement::kPad : Placement::kPart;
        if (options.collate == Collate::kList) field.field.form = BatchForm::kList;
        std::ranges::fill(field.field.spec.shape, -1);
      }
    }
    shape.fields.push_back(std::move(field));
  }
  return shape;
}

Status add_lengths(std::vector<LayoutField>& fields, const LoaderOptions& options, SamplePlan& plan) {
  std::vector<LayoutField> out;
  std::vector<int> moved;
  for (LayoutField& field : fields) {
    moved.push_back(static_cast<int>(out.size()));
    const bool padded = field.placement == Placement::kPad;
    const auto rank = static_cast<std::int64_t>(field.field.spec.shape.size());
    const std::string name = field.field.name + "_lengths";
    const auto is_named = [&](const LayoutField& other) { return other.field.name == name; };
    if (padded && (std::ranges::any_of(fields, is_named) || std::ranges::any_of(out, is_named)))
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("\"{}\" is a field of its own; rename it to pad \"{}\"", name, field.field.name));
    if (padded && !can_hold(field.field.spec.dtype, options.pad_value))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("pad_value={} does not fit field \"{}\" of {}; Cast it, or choose another",
                              options.pad_value, field.field.name, name_of(field.field.spec.dtype)));
    if (padded) field.lengths = static_cast<int>(out.size()) + 1;
    out.push_back(std::move(field));
    if (!padded) continue;
    LayoutField lengths;
    lengths.field.name = name;
    lengths.field.spec = {DType::kInt64, rank == 1 ? Shape{} : Shape{rank}};
    out.push_back(std::move(lengths));
  }
  for (int& place : plan.delivered_as)
    if (place >= 0) place = moved[static_cast<std::size_t>(place)];
  fields = std::move(out);
  return {};
}

}  // namespace penstock
