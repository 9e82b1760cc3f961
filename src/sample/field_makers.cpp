// The table of field makers. The first row that applies to a field decides which class makes it.
#include <array>

#include "sample/field_maker.h"
#include "sample/fields/array_field.h"
#include "sample/fields/cached_image_field.h"
#include "sample/fields/image_field.h"
#include "sample/fields/index_field.h"
#include "sample/fields/text_field.h"

namespace penstock {
namespace {

struct Row {
  bool (*applies)(const FieldSetup& setup, std::size_t field);
  std::unique_ptr<FieldMaker> (*make)(const FieldSetup& setup, std::size_t field);
};

template <typename Maker>
std::unique_ptr<FieldMaker> make(const FieldSetup& setup, std::size_t field) {
  return std::make_unique<Maker>(setup, field);
}

constexpr std::array kRows = {
    Row{IndexField::applies, make<IndexField>},
    Row{TextField::applies, make<TextField>},
    Row{CachedImageField::applies, make<CachedImageField>},
    Row{ImageField::applies, make<ImageField>},
    Row{ArrayField::applies, make<ArrayField>},
};

}  // namespace

std::unique_ptr<FieldMaker> make_field_maker(const FieldSetup& setup, std::size_t field) {
  const FieldPlan& plan = setup.plan.fields[field];
  if (plan.derive_from >= 0 || plan.is_chunked()) return nullptr;
  for (const Row& row : kRows)
    if (row.applies(setup, field)) return row.make(setup, field);
  return nullptr;
}

}  // namespace penstock
