// The destination of a sample: its slot of a batch, a measurement of its type and shape, or a visitor.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "batch/batch_contents.h"
#include "batch/slot_layout.h"
#include "penstock/source.h"
#include "transform/view.h"

namespace penstock {

// A batch that samples are made into. All members are borrowed.
struct BatchTarget {
  const SlotLayout& layout;
  BatchContents& contents;
  VariableMemory& variable;
};

// The type and shape that a field of a sample has in a batch.
struct MeasuredField {
  FieldKind kind = FieldKind::kArray;  // after all Maps, which may turn a text into numbers
  ArraySpec spec;                      // set if the value consists of numbers
};

// The value of a field that a visitor of samples receives. Borrowed for the call.
struct SeenField {
  std::size_t field;
  const View* view;  // nullptr: the value is a text
  std::string_view text;
};
using LookAtField = std::function<void(const SeenField&)>;

// Exactly one of the three pointers is set.
struct SampleTarget {
  const BatchTarget* batch = nullptr;
  std::uint64_t index = 0;  // index of the sample in the batch
  std::vector<MeasuredField>* measured = nullptr;
  const LookAtField* look = nullptr;
};

}  // namespace penstock
