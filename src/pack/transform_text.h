// Transforms as text, by which a later run recognises that it was given the same ones.
#pragma once

#include <string>

#include "penstock/result.h"
#include "penstock/transform.h"

namespace penstock {

// "Resize(256,0,1,1)". Fails with kInvalidArgument for a transform that draws at random: its result could not be the same
// in every run. A Map is described by its place alone; what its function does is the caller's responsibility.
Result<std::string> text_of(const Transform& step);

}  // namespace penstock
