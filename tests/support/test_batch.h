// A batch in the making, whose memory a test can look into.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "batch/batch_contents.h"
#include "batch/slot_layout.h"
#include "batch/variable_memory.h"
#include "sample/batch_target.h"

namespace penstock {

struct TestBatch {
  explicit TestBatch(std::vector<LayoutField> fields, std::uint64_t samples = 2, std::uint64_t variable_bytes = 1 << 20)
      : layout(std::move(fields), samples),
        variable(std::make_shared<VariableMemory>(ledger, variable_bytes)) {
    contents.block = MemoryBlock::allocate(layout.batch_bytes());
    contents.prepare(layout, samples);
    variable->promote(contents.variable);
  }

  // A number that was put into a slot.
  template <typename Number>
  Number number(std::size_t field, std::uint64_t index, std::size_t element = 0) const {
    Number out;
    std::memcpy(&out, layout.slot(contents.block.data(), field, index).data() + element * sizeof(Number),
                sizeof(Number));
    return out;
  }
  const std::string& text(std::size_t field, std::uint64_t index) const { return contents.texts[field][index]; }

  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>(64 << 20);
  SlotLayout layout;
  BatchContents contents;
  std::shared_ptr<VariableMemory> variable;
  const BatchTarget target{layout, contents, *variable};
};

}  // namespace penstock
