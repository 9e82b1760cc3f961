#include "sample/fields/image_field.h"

#include "sample/fields/measure_read.h"

namespace penstock {

bool ImageField::applies(const FieldSetup& setup, std::size_t field) {
  return setup.plan.fields[field].is_picture();
}

Status ImageField::make(const SampleTask& task) {
  auto pixels = load(task);
  if (!pixels) return std::unexpected(std::move(pixels).error());
  setup_.context.clock.mark(Stage::kTransform, 0, 1);
  return setup_.flow.take(field_, *pixels);
}

Result<View> ImageField::load(const SampleTask& task) {
  const auto found = setup_.bytes.read(read_of(task));
  if (!found) return std::unexpected(found.error());
  return decode(found->bytes);
}

Status ImageField::measure(const SampleTask& task, UnitCost& cost) {
  const auto found = measure_read(setup_, read_of(task), cost);
  if (!found) return std::unexpected(found.error());
  const Clock::time_point began = Clock::now();
  const auto part = field().program.plan_fixed_part(found->bytes, setup_.decoder);
  if (!part) return std::unexpected(part.error());
  const auto made = field().program.run_fixed_part(found->bytes, setup_.decoder, setup_.context);
  if (!made) return std::unexpected(made.error());
  cost.decode_seconds += seconds_between(began, Clock::now());
  cost.decoded_bytes += static_cast<double>(part->spec.bytes());
  return {};
}

}  // namespace penstock
