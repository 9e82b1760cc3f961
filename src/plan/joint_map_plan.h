// Maps over several fields: whose steps they are, and in which order they run.
#pragma once

#include <vector>

#include "penstock/transform.h"
#include "plan/sample_plan.h"

namespace penstock {

// The same transforms, where each such Map stands among the steps of all the fields that it names. A field
// that does not have it yet takes it as its last step.
Result<std::vector<FieldTransform>> spread_joint_maps(std::vector<FieldTransform> transforms);

// Enters the Maps into the plan, in an order in which every field can take its steps one after another.
// Fails where there is none.
Status plan_joint_maps(const std::vector<FieldTransform>& transforms, SamplePlan& plan);

}  // namespace penstock
