#include "pipeline/hand_over.h"

#include <algorithm>

namespace penstock {
namespace {

// Delivers the only part of a batch of one sample as the array itself, without a copy. There is no part if the sample
// was left out.
void show_only_part(BatchField& field, std::vector<Part>& parts) {
  if (parts.empty()) {
    std::ranges::fill(field.spec.shape, 0);
  } else {
    field.spec.shape = parts.front().spec.shape;
    field.data = parts.front().memory.data();
  }
}

BatchField field_of(const SlotLayout& layout, FinishedBatch& batch, std::size_t i) {
  BatchField field = layout.field(i);
  switch (layout.placement(i)) {
    case Placement::kSlot: field.data = layout.slot(batch.block, i, 0).data(); break;
    case Placement::kText:
      field.texts = std::move(batch.contents->texts[i]);
      field.spec.shape.clear();
      break;
    case Placement::kPart:
      if (field.form == BatchForm::kArray) {
        show_only_part(field, batch.contents->parts[i]);
        break;
      }
      for (Part& part : batch.contents->parts[i]) field.items.push_back({part.spec, part.memory.data()});
      field.spec.shape.clear();
      break;
    case Placement::kPad:
      field.data = batch.contents->padded[i].data();
      field.spec.shape = batch.contents->padded_shapes[i];
      break;
  }
  field.spec.shape.insert(field.spec.shape.begin(), static_cast<std::int64_t>(batch.kept));
  return field;
}

}  // namespace

void hand_over(const SlotLayout& layout, FinishedBatch& batch, Batch& out) {
  out.size = batch.kept;
  out.fields.resize(layout.size());
  for (std::size_t i = 0; i < layout.size(); ++i) out.fields[i] = field_of(layout, batch, i);
  out.memory = std::move(batch.memory);
}

}  // namespace penstock
