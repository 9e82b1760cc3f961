// The compiled transforms of one field: from bytes or an array to the elements of a slot.
//
// Immutable; shared by all workers, each with its own Context and ImageDecoder.
#pragma once

#include <vector>

#include "decode/image.h"
#include "penstock/source.h"
#include "transform/op.h"

namespace penstock {

enum class Layout : std::uint8_t { kNchw, kNhwc };

struct ProgramOptions {
  FieldKind kind = FieldKind::kImage;
  Layout layout = Layout::kNchw;
  std::optional<DType> dtype;  // wanted in the batch; a Cast at the end of the list goes first
};

class Program {
 public:
  static Result<Program> compile(const std::vector<Transform>& steps, const ProgramOptions& options);

  // Decodes what the transforms need of an encoded image and runs them.
  Result<View> run_image(ConstBytes encoded, ImageDecoder& decoder, Context& context) const;
  // Runs the transforms on a value.
  Status run(View& value, Context& context) const { return run_from(0, value, context); }

  // Flips, turns and one Normalize at most: run() may be given a view of no memory, and what comes
  // out says where each element belongs.
  bool only_changes_view() const { return only_changes_view_; }

  // The type and shape of a sample in the batch, where it is known without reading one.
  std::optional<ArraySpec> fixed_spec() const;
  // The same where it starts from an array of this layout.
  std::optional<ArraySpec> spec_from(const ArrayLayout& stored) const;
  // The type and shape that this value has in the batch.
  ArraySpec spec_of(const View& value) const;
  // Writes the value into its slot of the batch, which is of `spec`.
  Status store(const View& value, const ArraySpec& spec, MutableBytes slot) const;

  // Nothing is done to a value of this type: its bytes may be read straight into the slot.
  bool keeps(DType dtype) const { return ops_.empty() && (!dtype_ || *dtype_ == dtype); }

 private:
  Status run_from(std::size_t first, View& value, Context& context) const;
  Result<Frame> plan_from(std::size_t& next, Frame frame, Draws& draws) const;
  Result<View> decode_frame(const Frame& frame, const ImageHeader& header, ImageDecoder& decoder,
                            Context& context) const;

  FieldKind kind_ = FieldKind::kImage;
  Layout layout_ = Layout::kNchw;
  std::optional<DType> dtype_;
  Decode decode_;
  std::vector<std::unique_ptr<const Op>> ops_;
  bool normalizes_ = false;
  bool only_changes_view_ = true;
  bool has_fixed_type_ = true;  // no Map or Cast in the middle
};

}  // namespace penstock
