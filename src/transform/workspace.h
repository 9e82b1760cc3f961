// The memory in which ops work on one sample. Belongs to one thread.
#pragma once

#include <memory>

#include "base/memory/scratch.h"
#include "transform/scratch_use.h"
#include "transform/view.h"

namespace penstock {

struct Workspace {
  explicit Workspace(Scratch& scratch_) : scratch(scratch_) {}

  Scratch& scratch;
  int keep_buffer = -1;              // a pixel buffer that must not be overwritten; -1: none
  std::shared_ptr<const void> held;  // the result of a Map, alive until the sample is stored

  // Returns a pixel buffer of at least `bytes` that is neither the view's own nor keep_buffer, and sets `buffer` to its
  // number. Fails if the scratch budget is too small.
  Result<MutableBytes> pixels_beside(const View& view, std::size_t bytes, int& buffer);
};

}  // namespace penstock
