#include "plan/sample_plan.h"

#include <algorithm>

namespace penstock {

std::vector<std::size_t> stored_fields(const SamplePlan& plan) {
  std::vector<std::size_t> fields;
  for (const FieldPlan& field : plan.fields)
    if (field.source_field >= 0 && field.form != FieldForm::kIndex)
      fields.push_back(static_cast<std::size_t>(field.source_field));
  std::ranges::sort(fields);
  fields.erase(std::ranges::unique(fields).begin(), fields.end());
  return fields;
}

}  // namespace penstock
