// A compiled transform. Ops are immutable and shared by all workers.
//
// An op works in two steps. While a sample is planned it makes all its random draws; later it is applied to pixels,
// from its plan alone. There are two kinds: a FrameOp (crop, flip, resize) only changes the frame from which pixels
// are made later, a PixelOp changes values. To add a transform, write one file in transform/ops and one row in
// transform/ops/op_table.h.
#pragma once

#include <memory>
#include <optional>

#include "base/random.h"
#include "transform/geometry/frame.h"
#include "transform/op_plan.h"
#include "transform/view.h"
#include "transform/workspace.h"

namespace penstock {

struct ImageSize {
  int height = 0, width = 0;
};

// What an op does to the type of the elements.
enum class TypeEffect : std::uint8_t {
  kKeeps,
  kNormalizes,  // float32, from a scale and a bias
  kUnknown,     // a type that only the op knows
};

class FrameOp;
class PixelOp;

class Op {
 public:
  virtual ~Op() = default;

  // Exactly one of the two is not nullptr.
  virtual const FrameOp* as_frame_op() const { return nullptr; }
  virtual const PixelOp* as_pixel_op() const { return nullptr; }

  // A fixed op gives the same in every epoch, in no more bytes per element than it got, so that its result is worth
  // caching. It returns `before`, the fingerprint of the program in front of it, mixed with everything that decides
  // its result: two programs with equal fingerprints share cache entries. Every other op returns nothing. There is no
  // default, because a fixed op that forgot a parameter would make wrong cache hits.
  virtual std::optional<std::uint64_t> fixed_fingerprint(std::uint64_t before) const = 0;

  // True: the op must be told the size of the image when it is planned.
  virtual bool needs_size() const = 0;

  // The size after this op where that is known before any sample is read; nothing: it varies with the sample.
  virtual std::optional<ImageSize> size_after(std::optional<ImageSize> before) const { return before; }

  virtual TypeEffect type_effect() const { return TypeEffect::kKeeps; }

  // True: the op only changes how a value is seen and never looks at an element, so it can run before there are any.
  virtual bool only_changes_view() const { return false; }

  // Streams of random numbers are numbered by kind of op and by occurrence, so that the second
  // RandomCrop of the mask draws what the second RandomCrop of the image drew.
  std::uint32_t stream() const { return stream_; }
  void set_stream(std::uint32_t stream) { stream_ = stream; }

 private:
  std::uint32_t stream_ = 0;
};

class FrameOp : public Op {
 public:
  const FrameOp* as_frame_op() const final { return this; }
  bool needs_size() const final { return true; }

  // Changes the frame. Returns false and leaves the frame alone where the frame must become pixels first, which is
  // never so for a new frame. Fails where the image is too small.
  virtual Result<bool> plan(Frame& frame, Draws& draws) const = 0;
};

class PixelOp : public Op {
 public:
  const PixelOp* as_pixel_op() const final { return this; }
  bool needs_size() const override { return false; }

  // Makes all random draws of this op for one sample. `size` is known where needs_size() says so, and otherwise for
  // images whose size the steps so far determine.
  virtual OpPlan plan(std::optional<ImageSize> /*size*/, Draws& /*draws*/) const { return {}; }

  // The size after this op, given the size before and what was drawn; nothing: it is known once the op has run.
  virtual std::optional<ImageSize> planned_size_after(std::optional<ImageSize> before, const OpPlan& /*plan*/) const {
    return size_after(before);
  }

  // Replaces the value. The elements that the view shows are never written to: a field may derive from them.
  virtual Status apply(View& view, const OpPlan& plan, Workspace& workspace) const = 0;
};

using OpPtr = std::unique_ptr<Op>;

}  // namespace penstock
