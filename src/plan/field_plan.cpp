#include "plan/field_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/text/nearest_name.h"
#include "plan/joint_map_plan.h"
#include "transform/map_result.h"

namespace penstock {
namespace {

std::unexpected<Error> unknown_field(const std::string& name, const std::vector<std::string>& known) {
  const auto near = nearest_name(name, known);
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("there is no field \"{}\"{}; there are {}", name,
                          near ? fmt::format(", did you mean \"{}\"?", *near) : "", fmt::join(known, ", ")));
}

std::string source_name(const std::string& name, const LoaderOptions& options) {
  const auto renamed = options.renamed.find(name);
  return renamed == options.renamed.end() ? name : renamed->second;
}

const FieldTransform* transforms_of(const std::string& name, const LoaderOptions& options) {
  const auto found = std::ranges::find(options.transforms, name, &FieldTransform::field);
  return found == options.transforms.end() ? nullptr : &*found;
}

// Expands a Normalize that has one mean per variable of a stack to one mean per channel.
std::vector<Transform> by_channel(std::vector<Transform> steps, const ArrayLayout* layout) {
  if (layout == nullptr) return steps;
  const std::vector<std::int64_t>& channels = layout->channels_of_variables;
  const auto repeated = [&](const std::vector<double>& of_variables) {
    std::vector<double> out;
    for (std::size_t i = 0; i < channels.size(); ++i)
      out.insert(out.end(), static_cast<std::size_t>(channels[i]), of_variables[i]);
    return out;
  };
  const std::int64_t all = std::accumulate(channels.begin(), channels.end(), std::int64_t{0});
  for (Transform& step : steps) {
    auto* normalize = std::get_if<Normalize>(&step);
    const bool is_by_variable = normalize != nullptr && normalize->mean.size() == channels.size() &&
                                normalize->std.size() == channels.size() && channels.size() > 1 &&
                                static_cast<std::int64_t>(channels.size()) != all;
    if (!is_by_variable) continue;
    normalize->mean = repeated(normalize->mean);
    normalize->std = repeated(normalize->std);
  }
  return steps;
}

Result<Program> compile(const FieldTransform* transforms, FieldKind kind, bool has_own_type,
                        const ArrayLayout* layout, const LoaderOptions& options) {
  const bool numbers = !has_own_type && (kind == FieldKind::kImage || kind == FieldKind::kArray);
  return Program::compile(transforms ? by_channel(transforms->steps, layout) : std::vector<Transform>(),
                          {kind, options.layout == BatchLayout::kNchw ? Layout::kNchw : Layout::kNhwc,
                           numbers ? options.dtype : std::nullopt});
}

class Planner {
 public:
  Planner(const SourcePtr& source, const LoaderOptions& options) : source_(source), options_(options) {
    plan_.source = source;
    plan_.seed = options.seed;
    for (const FieldInfo& field : source->fields()) known_.push_back(field.name);
    if (std::ranges::find(known_, "key") == known_.end()) known_.push_back("key");
    for (const FieldTransform& transform : options.transforms)
      if (!transform.derive_from.empty()) known_.push_back(transform.field);
  }

  Result<SamplePlan> run() {
    std::vector<std::string> wanted = options_.fields;
    if (wanted.empty()) {
      for (const FieldInfo& field : source_->fields())
        if (field.is_everywhere) wanted.push_back(field.name);
      for (const FieldTransform& transform : options_.transforms)
        if (!transform.derive_from.empty()) wanted.push_back(transform.field);
      if (wanted.empty())
        return fail(
            ErrorCode::kInvalidArgument,
            fmt::format("no field is in every sample; choose of {} by fields=", fmt::join(known_, ", ")));
    }
    for (const std::string& name : wanted) {
      const auto index = add(name, 0);
      if (!index) return std::unexpected(index.error());
      order_.push_back(*index);
    }
    // Adds the fields that a Map needs but that are not delivered.
    for (const FieldTransform& transform : options_.transforms)
      if (std::ranges::any_of(transform.steps, is_joint_map))
        if (const auto index = add(transform.field, 0); !index) return std::unexpected(index.error());
    for (const FieldTransform& transform : options_.transforms)
      if (std::ranges::find(plan_.fields, transform.field, &FieldPlan::name) == plan_.fields.end()) {
        if (std::ranges::find(known_, transform.field) == known_.end())
          return unknown_field(transform.field, known_);
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("transform for field \"{}\", which is not among the fields asked for",
                                transform.field));
      }
    plan_.delivered_as.assign(plan_.fields.size(), -1);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (plan_.delivered_as[static_cast<std::size_t>(order_[i])] >= 0)
        return fail(ErrorCode::kInvalidArgument, fmt::format("field \"{}\" is asked for twice", wanted[i]));
      plan_.delivered_as[static_cast<std::size_t>(order_[i])] = static_cast<int>(i);
    }
    for (std::size_t i = 0; i < plan_.fields.size(); ++i)
      plan_.fields[i].is_delivered = plan_.delivered_as[i] >= 0;
    PENSTOCK_CHECK(plan_joint_maps(options_.transforms, plan_));
    return std::move(plan_);
  }

 private:
  // Adds a field (and before it the field that it derives from) and returns its index.
  Result<int> add(const std::string& name, int depth) {
    const auto known = std::ranges::find(plan_.fields, name, &FieldPlan::name);
    if (known != plan_.fields.end()) return static_cast<int>(known - plan_.fields.begin());
    const FieldTransform* transforms = transforms_of(name, options_);
    FieldPlan field;
    field.name = name;
    if (transforms && !transforms->derive_from.empty()) {
      if (depth > 8)
        return fail(ErrorCode::kInvalidArgument, fmt::format("field \"{}\" derives from itself", name));
      const auto parent = add(transforms->derive_from, depth + 1);
      if (!parent) return parent;
      if (plan_.fields[static_cast<std::size_t>(*parent)].derive_from >= 0)
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("field \"{}\" derives from \"{}\", which is derived itself", name,
                                transforms->derive_from));
      field.derive_from = *parent;
      // The parent is decoded already, so this field begins with an array of pixels, whatever its stored form
      // was.
      field.kind = plan_.fields[static_cast<std::size_t>(*parent)].kind;
      field.view = plan_.fields[static_cast<std::size_t>(*parent)].view;
    } else {
      const auto& fields = source_->fields();
      const auto found = std::ranges::find(fields, source_name(name, options_), &FieldInfo::name);
      if (found != fields.end()) {
        field.source_field = static_cast<int>(found - fields.begin());
        field.kind = found->kind;
        field.form = found->form;
        field.view = static_cast<std::uint32_t>(
            std::ranges::count(plan_.fields, field.source_field, &FieldPlan::source_field));
      } else if (source_name(name, options_) == "key") {
        // The key of the sample, unless the source has a field with this name.
        field.is_key = true;
        field.kind = FieldKind::kText;
      } else {
        return unknown_field(source_name(name, options_), known_);
      }
    }
    if (field.kind >= FieldKind::kText && transforms &&
        (transforms->steps.empty() || !is_joint_map(transforms->steps.front())))
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("field \"{}\" is {}; transforms do not apply, only Map(function, fields=[\"{}\"])",
                      name, name_of(field.kind), name));
    // A derived field begins with the value of its parent.
    const FieldPlan& origin =
        field.derive_from >= 0 ? plan_.fields[static_cast<std::size_t>(field.derive_from)] : field;
    const bool is_stored = origin.source_field >= 0;
    const auto number = static_cast<std::size_t>(std::max(origin.source_field, 0));
    // Numbers that come from the index, such as positions, keep their type, and so do coordinates and labels.
    const bool has_own_type =
        origin.form == FieldForm::kIndex || (is_stored && source_->fields()[number].keeps_type);
    const ArrayLayout* layout =
        is_stored && origin.form == FieldForm::kChunks ? source_->array_layout(number) : nullptr;
    auto program = compile(transforms, field.kind, has_own_type, layout, options_);
    if (!program) {
      program.error().message += fmt::format(" (field \"{}\")", name);
      return std::unexpected(std::move(program).error());
    }
    field.program = std::move(*program);
    plan_.fields.push_back(std::move(field));
    return static_cast<int>(plan_.fields.size()) - 1;
  }

  const SourcePtr& source_;
  const LoaderOptions& options_;
  SamplePlan plan_;
  std::vector<std::string> known_;
  std::vector<int> order_;
};

}  // namespace

Result<SamplePlan> plan_fields(SourcePtr source, const LoaderOptions& options) {
  auto transforms = spread_joint_maps(options.transforms);
  if (!transforms) return std::unexpected(std::move(transforms).error());
  LoaderOptions spread = options;
  spread.transforms = std::move(*transforms);
  return Planner(source, spread).run();
}

}  // namespace penstock
