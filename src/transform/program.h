// The compiled transforms of one field: from bytes or an array to the elements of a slot.
//
// A sample is made in three stages. Planning makes all random draws and all geometry, and needs only the header of the
// image. Decoding gives the pixels that the plan needs. The rest of the steps runs from the plan. run_image() does all
// three on this thread; plan_image(), decode() and a RestExecutor do them separately.
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
  std::optional<DType> dtype;  // type of the batch; a Cast at the end of the list takes precedence
};

class Program {
 public:
  static Result<Program> compile(const std::vector<Transform>& steps, const ProgramOptions& options);

  // Maps over several fields divide the transforms into parts: part 0 is before the first such Map, and part n follows
  // the n-th. Without such a Map, part 0 is everything.
  std::size_t joint_maps() const { return joint_at_.size(); }
  bool has_steps(std::size_t part) const { return part_begin(part) < part_end(part); }
  Status run_part(std::size_t part, View& value, Context& context) const {
    return run_steps(part_begin(part), part_end(part), value, context);
  }

  // Decodes the pixels of an encoded image that part 0 needs, and runs part 0.
  Result<View> run_image(ConstBytes encoded, ImageDecoder& decoder, Context& context) const {
    return decode_and_run(encoded, decoder, context, part_end(0));
  }
  // Runs part 0 on a value.
  Status run(View& value, Context& context) const { return run_part(0, value, context); }

  // ---- the separate stages of run_image()

  // Plans part 0 for an image with this header. `can_scale` says that the decoder can decode at a fraction of the size.
  // If is_whole() is false for the plan, some steps can be planned only after the steps before them have run.
  Status plan_image(const ImageHeader& header, bool can_scale, const Draws& draws, ProgramPlan& plan) const {
    return plan_encoded(header, can_scale, part_end(0), draws, plan);
  }
  bool is_whole(const ProgramPlan& plan) const { return plan.end_op() == part_end(0); }
  // Returns the pixels that the plan needs, upright, in the worker's memory. `decoder` must have opened the image.
  Result<View> decode(const ProgramPlan& plan, const ImageHeader& header, ImageDecoder& decoder,
                      Context& context) const;
  // Runs the planned steps on decoded pixels, or on the value that the plan was made for.
  Status run_planned(const ProgramPlan& plan, View& value, Workspace& workspace) const;
  // Returns the transform of op number `op` of a plan, with the arguments that are the same for all samples.
  const Transform& transform_of(std::size_t op) const { return transforms_[op]; }

  // ---- part 0 in two pieces; the first is the same in every epoch and can be cached

  // Whether the program may be divided. With fast_decode, pixels of the first piece depend on later steps.
  bool can_be_cut() const { return !decode_.fast_decode; }
  struct FixedPart {
    ArraySpec spec;             // packed
    int width = 0, height = 0;  // size of the whole image
  };
  Result<FixedPart> plan_fixed_part(ConstBytes encoded, ImageDecoder& decoder) const;
  // As above, for an image of this size.
  Result<FixedPart> plan_fixed_part(int width, int height) const;
  // Returns the share of the image that run_image() would decode with these draws, 0 to 1.
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

  // Whether the program consists of flips, rotations and at most one Normalize. Then run() accepts a view without
  // memory, and its result tells where each element belongs.
  bool only_changes_view() const { return only_changes_view_; }
  // Returns the type and shape of a sample in the batch, if they are known without reading one.
  std::optional<ArraySpec> fixed_spec() const;
  // As above, for a program that starts from an array of this layout.
  std::optional<ArraySpec> spec_from(const ArrayLayout& stored) const;
  // Returns the type and shape that this value has in the batch.
  ArraySpec spec_of(const View& value) const;
  // Writes the value into its slot of the batch, which has type and shape `spec`. Fails if the value does not fit.
  Status store(const View& value, const ArraySpec& spec, MutableBytes slot) const;

  // Whether no step changes a value of this type, so that its bytes may be read straight into the slot.
  bool keeps(DType dtype) const { return ops_.empty() && joint_at_.empty() && (!dtype_ || *dtype_ == dtype); }

 private:
  Status add_op(const Transform& step, std::uint32_t stream);
  // Fails if the dtype of the loader cannot hold the values that the steps make. (With a Cast the loss is intended: it
  // drops fractions and clamps to the range of its type.)
  Status check_type_of_batch() const;
  std::size_t part_begin(std::size_t part) const { return part == 0 ? 0 : joint_at_[part - 1]; }
  std::size_t part_end(std::size_t part) const {
    return part < joint_at_.size() ? joint_at_[part] : ops_.size();
  }
  int decoded_channels() const { return kind_ == FieldKind::kMask || decode_.mode == ColorMode::kGrey ? 1 : 3; }

  // Returns the visible width and height.
  std::pair<int, int> size_of_image(const ImageHeader& header) const;
  // Fails if a mask has another size than its image, because they would not be cropped in the same way.
  Status check_size(std::pair<int, int> size, Context& context) const;

  // Joins the geometric ops from `next` on into the frame; returns the first op that does not belong to it.
  Result<std::size_t> join_frame(std::size_t next, std::size_t last, Frame& frame, Draws& draws) const;
  Status plan_encoded(const ImageHeader& header, bool can_scale, std::size_t last, const Draws& draws,
                      ProgramPlan& plan) const;
  // Plans ops from `next` on for a value, up to `last` or the first op that cannot be planned yet. Fails only if op
  // `next` itself fails. An error of a later op is reported when that op is planned again, after the errors of the
  // steps before it.
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
  std::vector<Transform> transforms_;  // the transform of each op
  std::vector<std::size_t> joint_at_;  // per Map over several fields: the index of the op that follows it
  std::size_t fixed_steps_ = 0;        // number of leading ops that are the same in every epoch
  std::uint64_t fixed_fingerprint_ = 0;
  bool normalizes_ = false;
  bool ends_normalized_ = false;  // a Normalize is the last op that determines the type
  bool only_changes_view_ = true;
  bool has_fixed_type_ = true;  // the type of the result is known without running an op
};

}  // namespace penstock
