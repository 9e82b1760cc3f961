#include "sample/fields/text_field.h"

#include "decode/text.h"
#include "sample/fields/measure_read.h"

namespace penstock {
namespace {

constexpr std::uint64_t kJsonCheckFactor = 16;  // bytes of memory per byte of text, for the names of its keys

Status check_text(FieldKind kind, ConstBytes text) {
  if (kind == FieldKind::kText) return check_utf8(text);
  if (kind == FieldKind::kJson) return check_json(text);
  return {};
}

}  // namespace

bool TextField::applies(const FieldSetup& setup, std::size_t field) {
  return setup.plan.fields[field].kind >= FieldKind::kText;
}

FieldRead TextField::read_of(const SampleTask& task) const {
  return {setup_.plan.fields[field_], field_, task.position, task.sample};
}

Status TextField::make(const SampleTask& task) {
  const FieldPlan& plan = setup_.plan.fields[field_];
  const auto found = setup_.bytes.read(read_of(task));
  if (!found) return std::unexpected(found.error());
  if (plan.kind == FieldKind::kJson)
    PENSTOCK_CHECK(setup_.context.scratch.charge(found->bytes.size() * kJsonCheckFactor));
  if (auto status = check_text(plan.kind, found->bytes); !status) {
    // The offset of the record is known, but not that of the value within it.
    if (plan.form == FieldForm::kRecord) status.error().where.offset = -1;
    return setup_.origin.located(std::move(status).error());
  }
  return setup_.flow.take_text(field_, {reinterpret_cast<const char*>(found->bytes.data()), found->bytes.size()});
}

Status TextField::measure(const SampleTask& task, UnitCost& cost) {
  const auto found = measure_read(setup_, read_of(task), cost);
  if (!found) return std::unexpected(found.error());
  cost.decoded_bytes += static_cast<double>(found->bytes.size());
  return {};
}

}  // namespace penstock
