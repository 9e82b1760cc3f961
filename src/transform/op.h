// A compiled transform. Ops are immutable and shared by all workers; what changes is in Context.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/random.h"
#include "base/memory/scratch.h"
#include "base/stats.h"
#include "penstock/transform.h"
#include "transform/frame.h"
#include "transform/resample.h"
#include "transform/view.h"

namespace penstock {

// Scratch buffers by use. Three pixel buffers: the one a value lives in, one that must be kept
// (another field derives from it), and one to write to.
enum ScratchUse : int {
  kScratchEncoded,
  kScratchDecoded,
  kScratchRow,
  kScratchPixels0,
  kScratchPixels1,
  kScratchPixels2,
  kScratchRecord,
  kScratchChunk,
  kScratchSample,
  kScratchCached,
  kScratchCodec,  // and the one after it
};

// What one worker needs to run ops on one sample.
struct Context {
  Context(Scratch& scratch_, StageClock& clock_) : scratch(scratch_), clock(clock_) {}

  Scratch& scratch;
  StageClock& clock;
  Draws draws{0, 0, 0};
  AxisPlan columns, rows;                      // kept for their memory
  std::optional<std::pair<int, int>> picture;  // width and height of the sample's first picture
  int keep_buffer = -1;                        // not to be overwritten
  std::shared_ptr<const void> held;            // result of a Map, alive until the sample is stored

  // A pixel buffer that is neither the view's own nor the kept one.
  Result<MutableBytes> pixels_beside(const View& view, std::size_t bytes, int& buffer);
};

// Extents that are known before any sample is read.
struct FixedSize {
  int height = 0, width = 0;
};

class Op {
 public:
  virtual ~Op() = default;

  // Crops, flips and resizes only change the frame, from which pixels are made later: they override
  // plan(), which returns false where the frame must become pixels first, and fails where the
  // image is too small. All others override apply().
  virtual bool is_geometric() const { return false; }
  virtual Result<bool> plan(Frame&, Draws&) const { return false; }
  virtual Status apply(View&, Context&) const { return {}; }

  // Gives the same in every epoch, in no more bytes an element than it got: what comes out is worth keeping.
  virtual bool is_fixed() const { return false; }

  // Only changes how a value is seen, never looks at an element: can be run before there are any.
  virtual bool only_changes_view() const { return false; }

  // The size after this op, given the size before (nothing: varies with the sample).
  virtual std::optional<FixedSize> size_after(std::optional<FixedSize> before) const { return before; }

  // Streams of random numbers are numbered by kind of op and by occurrence, so that the second
  // RandomCrop of the mask draws what the second RandomCrop of the image drew.
  std::uint32_t stream() const { return stream_; }
  void set_stream(std::uint32_t stream) { stream_ = stream; }

 private:
  std::uint32_t stream_ = 0;
};

using OpPtr = std::unique_ptr<Op>;

// Every size a user gives: 1 up to what an image may have.
Status check_sides(const char* name, int height, int width);

// One maker a transform file.
Result<OpPtr> make_op(const Resize&, bool is_mask);
Result<OpPtr> make_op(const CenterCrop&);
Result<OpPtr> make_op(const RandomCrop&);
Result<OpPtr> make_op(const RandomResizedCrop&, bool is_mask);
Result<OpPtr> make_op(const RandomHorizontalFlip&);
Result<OpPtr> make_op(const RandomVerticalFlip&);
Result<OpPtr> make_op(const ColorJitter&);
Result<OpPtr> make_op(const Normalize&);
Result<OpPtr> make_op(const Cast&);
Result<OpPtr> make_op(const Pad&);
Result<OpPtr> make_op(const RandomFlip3D&);
Result<OpPtr> make_op(const RandomRot90&);
Result<OpPtr> make_op(const OneHot&);
Result<OpPtr> make_op(const Map&);

// The view as an image of uint8 or float32, wherever its pixels stand: what crops and flips work on.
// Copies only where numbers must be converted.
Status make_image(View& view, Context& context);

// The view as packed pixels of four items or one, uint8 or float32, positive strides: what
// resampling and per-pixel ops work on. Copies only where it is not so already.
Status make_packed(View& view, Context& context);

// The view as float32 with any pending Normalize carried out.
Status make_float(View& view, Context& context);

}  // namespace penstock
