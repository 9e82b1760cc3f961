// Where a sample goes: to its slot of a batch, or to somebody who only wants to know what it is.
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
  FieldKind kind = FieldKind::kArray;  // a Map may have made a text into numbers
  ArraySpec spec;                      // of numbers
};

// A field's value, as a visitor of samples sees it. Borrowed for the call.
struct SeenField {
  std::size_t field;
  const View* view;  // nullptr: the value is a text
  std::string_view text;
};
using LookAtField = std::function<void(const SeenField&)>;

// One of the three is given.
struct SampleTarget {
  const BatchTarget* batch = nullptr;
  std::uint64_t index = 0;  // of the sample in the batch
  std::vector<MeasuredField>* measured = nullptr;
  const LookAtField* look = nullptr;
};

}  // namespace penstock
