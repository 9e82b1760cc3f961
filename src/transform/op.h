// A compiled transform. Ops are immutable and shared by all workers.
//
// An op works in two steps. While a sample is planned, it makes all its random draws; later it is applied to pixels,
// from its plan alone. There are two kinds: a FrameOp (crop, flip, resize) only changes the frame from which pixels
// are made later; a PixelOp changes values. To add a transform, write one file in transform/ops and one row in
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

// The effect of an op on the type of the elements.
enum class TypeEffect : std::uint8_t {
  kKeeps,
  kNormalizes,  // the result is float32, after a scale and a bias
  kUnknown,     // the type is known only after the op has run
};

class FrameOp;
class PixelOp;

class Op {
 public:
  virtual ~Op() = default;

  // Exactly one of the two is not nullptr.
  virtual const FrameOp* as_frame_op() const { return nullptr; }
  virtual const PixelOp* as_pixel_op() const { return nullptr; }

  // The result of a fixed op is the same in every epoch and has no more bytes per element than its input, so it is
  // worth caching. A fixed op returns `before`, the fingerprint of the program before it, mixed with everything that
  // its result depends on, because programs with equal fingerprints share cache entries. Every other op returns
  // nullopt. There is no default implementation, because a fixed op that forgot a parameter would cause wrong cache
  // hits.
  virtual std::optional<std::uint64_t> fixed_fingerprint(std::uint64_t before) const = 0;

  // Whether the op needs the size of the image when it is planned.
  virtual bool needs_size() const = 0;

  // Returns the size after this op if it is known before any sample is read; nullopt if it varies between samples.
  virtual std::optional<ImageSize> size_after(std::optional<ImageSize> before) const { return before; }

  virtual TypeEffect type_effect() const { return TypeEffect::kKeeps; }

  // Whether the op only changes strides, axes and notes of a view and reads no element, so that it can run on a view
  // without memory.
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

  // Changes the frame. Returns false, and does not change it, if the frame must first be turned into pixels; that never
  // happens for a new frame. Fails if the image is too small.
  virtual Result<bool> plan(Frame& frame, Draws& draws) const = 0;
};

class PixelOp : public Op {
 public:
  const PixelOp* as_pixel_op() const final { return this; }
  bool needs_size() const override { return false; }

  // Makes all random draws of this op for one sample. `size` is set if needs_size() is true, and also for images whose
  // size the steps so far determine.
  virtual OpPlan plan(std::optional<ImageSize> /*size*/, Draws& /*draws*/) const { return {}; }

  // Returns the size after this op, from the size before it and the draws; nullopt if it is known only after the op has
  // run.
  virtual std::optional<ImageSize> planned_size_after(std::optional<ImageSize> before, const OpPlan& /*plan*/) const {
    return size_after(before);
  }

  // Replaces the value. It must not write to the elements of the view, because another field may derive from them.
  virtual Status apply(View& view, const OpPlan& plan, Workspace& workspace) const = 0;
};

using OpPtr = std::unique_ptr<Op>;

}  // namespace penstock
