// Checks of arguments and of images that several transforms share.
#pragma once

#include <fmt/format.h>

#include "base/limits.h"
#include "penstock/result.h"
#include "transform/geometry/frame.h"

namespace penstock {

// Fails if a size that a user gave is less than 1 or more than an image may have.
inline Status check_sides(const char* name, int height, int width) {
  const auto most = static_cast<int>(Limits{}.image_side);
  if (height >= 1 && width >= 1 && height <= most && width <= most) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} of {}x{}: sides are 1 to {}", name, height, width, most));
}

inline Status check_probability(const char* name, double probability) {
  if (probability >= 0 && probability <= 1) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} probability {}: wants 0 to 1", name, probability));
}

inline std::unexpected<Error> smaller_than_crop(const Frame& frame, int height, int width) {
  return fail(ErrorCode::kShapeMismatch, fmt::format("image of {}x{} is smaller than the crop of {}x{}",
                                                     frame.height(), frame.width(), height, width));
}

}  // namespace penstock
