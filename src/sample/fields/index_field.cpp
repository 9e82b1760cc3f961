#include "sample/fields/index_field.h"

#include <variant>

namespace penstock {
namespace {

template <typename Number>
View view_of_number(const Number& number, DType dtype) {
  return view_of_array(reinterpret_cast<const std::byte*>(&number), {dtype, {}});
}

struct ViewOfValue {
  View operator()(const std::int64_t& integer) const { return view_of_number(integer, DType::kInt64); }
  View operator()(const double& real) const { return view_of_number(real, DType::kFloat64); }
  View operator()(const float& real) const { return view_of_number(real, DType::kFloat32); }
  View operator()(const std::vector<std::int64_t>& several) const {
    return view_of_array(reinterpret_cast<const std::byte*>(several.data()),
                         {DType::kInt64, {static_cast<std::int64_t>(several.size())}});
  }
  View operator()(const std::string&) const { return {}; }  // texts are not delivered through views
};

}  // namespace

bool IndexField::applies(const FieldSetup& setup, std::size_t field) {
  const FieldPlan& plan = setup.plan.fields[field];
  return plan.is_key || plan.form == FieldForm::kIndex;
}

Status IndexField::make(const SampleTask& task) {
  const FieldPlan& plan = setup_.plan.fields[field_];
  const Source& source = *setup_.plan.source;
  if (plan.is_key) return setup_.flow.take_text(field_, source.key(task.sample));
  value_ = source.value(task.sample, static_cast<std::size_t>(plan.source_field));
  if (const auto* text = std::get_if<std::string>(&value_)) return setup_.flow.take_text(field_, *text);
  View view = std::visit(ViewOfValue{}, value_);
  PENSTOCK_CHECK(plan.program.run(view, setup_.context));
  setup_.context.clock.mark(Stage::kTransform, 0, 0);
  return setup_.flow.take(field_, view);
}

}  // namespace penstock
