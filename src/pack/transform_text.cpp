#include "pack/transform_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace penstock {
namespace {

Result<std::string> is_random(const char* name) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} draws at random, so packing would fix one of its results for all epochs; leave it to the loader",
                          name));
}

// One overload per alternative of Transform, so that a new transform is a compile error here.
struct TextOf {
  using Text = Result<std::string>;

  Text operator()(const Decode& step) const {
    return fmt::format("Decode({},{},{})", static_cast<int>(step.mode), step.exif_orientation, step.fast_decode);
  }
  Text operator()(const Resize& step) const {
    return fmt::format("Resize({},{},{},{})", step.height, step.width, static_cast<int>(step.interpolation), step.antialias);
  }
  Text operator()(const CenterCrop& step) const { return fmt::format("CenterCrop({},{})", step.height, step.width); }
  Text operator()(const Normalize& step) const {
    return fmt::format("Normalize({},{},{})", fmt::join(step.mean, " "), fmt::join(step.std, " "),
                       step.max_value ? fmt::format("{}", *step.max_value) : "");
  }
  Text operator()(const Cast& step) const { return fmt::format("Cast({})", name_of(step.dtype)); }
  Text operator()(const Pad& step) const {
    return fmt::format("Pad({},{},{},{},{})", step.left, step.top, step.right, step.bottom, step.fill);
  }
  Text operator()(const OneHot& step) const { return fmt::format("OneHot({})", step.classes); }
  Text operator()(const Map& step) const { return fmt::format("Map({})", fmt::join(step.fields, " ")); }

  Text operator()(const RandomCrop&) const { return is_random("RandomCrop"); }
  Text operator()(const RandomResizedCrop&) const { return is_random("RandomResizedCrop"); }
  Text operator()(const RandomHorizontalFlip&) const { return is_random("RandomHorizontalFlip"); }
  Text operator()(const RandomVerticalFlip&) const { return is_random("RandomVerticalFlip"); }
  Text operator()(const ColorJitter&) const { return is_random("ColorJitter"); }
  Text operator()(const RandomFlip3D&) const { return is_random("RandomFlip3D"); }
  Text operator()(const RandomRot90&) const { return is_random("RandomRot90"); }
  Text operator()(const RandomErasing&) const { return is_random("RandomErasing"); }
};

}  // namespace

Result<std::string> text_of(const Transform& step) { return std::visit(TextOf(), step); }

}  // namespace penstock
