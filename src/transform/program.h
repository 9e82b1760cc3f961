// The compiled transforms of one field: from bytes or an array to the elements of a slot.
//
// Immutable; shared by all workers, each with its own Context and ImageDecoder.
#pragma once

#include <vector>

#include "decode/image/image.h"
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

  // A Map over several fields divides the transforms into parts. Part 0 stands before the first of them, part
  // n behind the n-th. Without such a Map, part 0 is all there is.
  std::size_t joint_maps() const { return joint_at_.size(); }
  bool has_steps(std::size_t part) const { return part_begin(part) < part_end(part); }
  Status run_part(std::size_t part, View& value, Context& context) const {
    return run_steps(part_begin(part), part_end(part), value, context);
  }

  // Decodes what part 0 needs of an encoded image and runs it.
  Result<View> run_image(ConstBytes encoded, ImageDecoder& decoder, Context& context) const {
    return decode_and_run(encoded, decoder, context, part_end(0));
  }
  // Runs part 0 on a value.
  Status run(View& value, Context& context) const { return run_part(0, value, context); }

  // Part 0 in two steps. The first gives the same in every epoch: it is made once, and kept.
  // Pixels do not depend on where an image is cut in two, unless fast_decode looks at what comes later.
  bool can_be_cut() const { return !decode_.fast_decode; }
  struct FixedPart {
    ArraySpec spec;             // packed
    int width = 0, height = 0;  // of the whole picture
  };
  Result<FixedPart> plan_fixed_part(ConstBytes encoded, ImageDecoder& decoder) const;
  // Of a picture of this size.
  Result<FixedPart> plan_fixed_part(int width, int height) const;
  // How much of the picture run_image() would decode, 0 to 1, with these draws.
  double share_decoded(const FixedPart& part, Draws draws) const;
  Result<View> run_fixed_part(ConstBytes encoded, ImageDecoder& decoder, Context& context) const {
    return decode_and_run(encoded, decoder, context, fixed_steps_);
  }
  Status run_rest(View& value, Context& context) const {
    return run_steps(fixed_steps_, part_end(0), value, context);
  }
  // The rest, of what was kept.
  Result<View> run_from_fixed(const FixedPart& part, const std::byte* pixels, Context& context) const;
  // Two programs with the same have the same first part.
  std::uint64_t fixed_fingerprint() const { return fixed_fingerprint_; }

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
  bool keeps(DType dtype) const { return ops_.empty() && joint_at_.empty() && (!dtype_ || *dtype_ == dtype); }

 private:
  std::size_t part_begin(std::size_t part) const { return part == 0 ? 0 : joint_at_[part - 1]; }
  std::size_t part_end(std::size_t part) const {
    return part < joint_at_.size() ? joint_at_[part] : ops_.size();
  }
  Result<View> decode_and_run(ConstBytes encoded, ImageDecoder& decoder, Context& context,
                              std::size_t last) const;
  std::pair<int, int> size_of_image(const ImageHeader& header) const;
  Status check_size(std::pair<int, int> size, Context& context) const;
  Status run_steps(std::size_t next, std::size_t last, View& value, Context& context) const;
  Result<Frame> plan_steps(std::size_t& next, std::size_t last, Frame frame, Draws& draws) const;
  Result<View> decode_frame(const Frame& frame, const ImageHeader& header, ImageDecoder& decoder,
                            Context& context) const;

  FieldKind kind_ = FieldKind::kImage;
  Layout layout_ = Layout::kNchw;
  std::optional<DType> dtype_;
  Decode decode_;
  std::vector<std::unique_ptr<const Op>> ops_;
  std::vector<std::size_t> joint_at_;  // Maps over several fields: each stands before this one of ops_
  std::size_t fixed_steps_ = 0;        // the first of ops_
  std::uint64_t fixed_fingerprint_ = 0;
  bool normalizes_ = false;
  bool only_changes_view_ = true;
  bool has_fixed_type_ = true;  // no Map or Cast in the middle
};

}  // namespace penstock
