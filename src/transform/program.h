// The compiled transforms of one field: from bytes or an array to the elements of a slot.
//
// A sample is made in three stages. Its plan holds all random draws and geometry and needs only the header of the
// image; decoding gives the pixels that the plan needs; the rest of the steps runs from the plan. run_image() does all
// three on this thread; plan_image(), decode() and a RestExecutor do them apart.
//
// A Program is immutable and shared by all workers, each with its own Context and ImageDecoder. All functions fail
// with the error of the first step that fails; a Context can be used again after a failure.
#pragma once

#include <vector>

#include "decode/image/image.h"
#include "penstock/source.h"
#include "penstock/transform.h"
#include "transform/context.h"
#include "transform/op.h"

namespace penstock {

enum class Layout : std::uint8_t { kNchw, kNhwc };

struct ProgramOptions {
  FieldKind kind = FieldKind::kImage;
  Layout layout = Layout::kNchw;
  std::optional<DType> dtype;  // of the batch; a Cast at the end of the list takes precedence
};

class Program {
 public:
  static Result<Program> compile(const std::vector<Transform>& steps, const ProgramOptions& options);

  // A Map over several fields divides the transforms into parts: part 0 is in front of the first such Map, part n
  // behind the n-th. Without such a Map, part 0 is everything.
  std::size_t joint_maps() const { return joint_at_.size(); }
  bool has_steps(std::size_t part) const { return part_begin(part) < part_end(part); }
  Status run_part(std::size_t part, View& value, Context& context) const {
    return run_steps(part_begin(part), part_end(part), value, context);
  }

  // Decodes what part 0 needs of an encoded image and runs part 0.
  Result<View> run_image(ConstBytes encoded, ImageDecoder& decoder, Context& context) const {
    return decode_and_run(encoded, decoder, context, part_end(0));
  }
  // Runs part 0 on a value.
  Status run(View& value, Context& context) const { return run_part(0, value, context); }

  // ---- the stages of run_image() apart

  // Plans part 0 for an image with this header. `can_scale`: the decoder can decode at a fraction of the size.
  // Where is_whole() is false for the plan, some steps can only be planned once those before them have run.
  Status plan_image(const ImageHeader& header, bool can_scale, const Draws& draws, ProgramPlan& plan) const {
    return plan_encoded(header, can_scale, part_end(0), draws, plan);
  }
  bool is_whole(const ProgramPlan& plan) const { return plan.end_op() == part_end(0); }
  // The pixels that the plan needs, upright, in the worker's memory. `decoder` has opened the image.
  Result<View> decode(const ProgramPlan& plan, const ImageHeader& header, ImageDecoder& decoder,
                      Context& context) const;
  // Runs the planned steps on decoded pixels, or on the value that was planned for.
  Status run_planned(const ProgramPlan& plan, View& value, Workspace& workspace) const;
  // The transform behind op number `op` of a plan, with the arguments that do not change from sample to sample.
  const Transform& transform_of(std::size_t op) const { return transforms_[op]; }

  // ---- part 0 in two steps, the first of which is the same in every epoch and can be cached

  // Pixels do not depend on where an image is cut in two, unless fast_decode looks at what comes later.
  bool can_be_cut() const { return !decode_.fast_decode; }
  struct FixedPart {
    ArraySpec spec;             // packed
    int width = 0, height = 0;  // of the whole picture
  };
  Result<FixedPart> plan_fixed_part(ConstBytes encoded, ImageDecoder& decoder) const;
  // The same for a picture of this size.
  Result<FixedPart> plan_fixed_part(int width, int height) const;
  // The share of the picture that run_image() would decode with these draws, 0 to 1.
  double share_decoded(const FixedPart& part, Draws draws) const;
  Result<View> run_fixed_part(ConstBytes encoded, ImageDecoder& decoder, Context& context) const {
    return decode_and_run(encoded, decoder, context, fixed_steps_);
  }
  Status run_rest(View& value, Context& context) const {
    return run_steps(fixed_steps_, part_end(0), value, context);
  }
  // Runs the rest on the cached pixels of the first part.
  Result<View> run_from_fixed(const FixedPart& part, const std::byte* pixels, Context& context) const;
  // Programs with equal fingerprints have the same first part.
  std::uint64_t fixed_fingerprint() const { return fixed_fingerprint_; }

  // ---- shapes and types

  // The program consists of flips, turns and at most one Normalize: run() may be given a view without memory, and the
  // result says where each element belongs.
  bool only_changes_view() const { return only_changes_view_; }
  // The type and shape of a sample in the batch, where it is known without reading one.
  std::optional<ArraySpec> fixed_spec() const;
  // The same where it starts from an array of this layout.
  std::optional<ArraySpec> spec_from(const ArrayLayout& stored) const;
  // The type and shape that this value has in the batch.
  ArraySpec spec_of(const View& value) const;
  // Writes the value into its slot of the batch, which is of `spec`. Fails where the value does not fit it.
  Status store(const View& value, const ArraySpec& spec, MutableBytes slot) const;

  // Nothing is done to a value of this type: its bytes may be read straight into the slot.
  bool keeps(DType dtype) const { return ops_.empty() && joint_at_.empty() && (!dtype_ || *dtype_ == dtype); }

 private:
  Status add_op(const Transform& step, std::uint32_t stream);
  // The type that was asked for all batches must hold what the steps make. (A Cast says that the loss is meant: it
  // cuts off fractions and stops at the ends of its type's range.)
  Status check_type_of_batch() const;
  std::size_t part_begin(std::size_t part) const { return part == 0 ? 0 : joint_at_[part - 1]; }
  std::size_t part_end(std::size_t part) const {
    return part < joint_at_.size() ? joint_at_[part] : ops_.size();
  }
  int decoded_channels() const { return kind_ == FieldKind::kMask || decode_.mode == ColorMode::kGrey ? 1 : 3; }

  // Width and height as they are seen.
  std::pair<int, int> size_of_image(const ImageHeader& header) const;
  // Fails where a mask has another size than its image: they would not be cut alike.
  Status check_size(std::pair<int, int> size, Context& context) const;

  // Joins the geometric ops from `next` on into the frame; returns the first op that does not belong to it.
  Result<std::size_t> join_frame(std::size_t next, std::size_t last, Frame& frame, Draws& draws) const;
  Status plan_encoded(const ImageHeader& header, bool can_scale, std::size_t last, const Draws& draws,
                      ProgramPlan& plan) const;
  // Plans ops from `next` on for a value, up to `last` or the first op that cannot be planned yet. Fails only where op
  // `next` fails: a later error is found again when its turn comes, behind the errors of the steps before it.
  Status plan_value(std::size_t next, std::size_t last, std::optional<ImageSize> size, const Draws& draws,
                    ProgramPlan& plan) const;
  Status plan_on(std::size_t last, std::optional<ImageSize> size, Draws draws, ProgramPlan& plan) const;

  Result<View> decode_and_run(ConstBytes encoded, ImageDecoder& decoder, Context& context,
                              std::size_t last) const;
  Status run_steps(std::size_t next, std::size_t last, View& value, Context& context) const;

  FieldKind kind_ = FieldKind::kImage;
  Layout layout_ = Layout::kNchw;
  std::optional<DType> dtype_;
  Decode decode_;
  std::vector<std::unique_ptr<const Op>> ops_;
  std::vector<Transform> transforms_;  // of ops_
  std::vector<std::size_t> joint_at_;  // Maps over several fields: each is in front of this one of ops_
  std::size_t fixed_steps_ = 0;        // the first of ops_
  std::uint64_t fixed_fingerprint_ = 0;
  bool normalizes_ = false;
  bool ends_normalized_ = false;  // and no later op has made another type of it
  bool only_changes_view_ = true;
  bool has_fixed_type_ = true;  // no op makes a type that only it knows
};

}  // namespace penstock
