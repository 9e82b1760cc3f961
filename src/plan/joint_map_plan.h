// Plans Maps over several fields: to which fields they belong, and in which order they run.
#pragma once

#include <vector>

#include "penstock/transform.h"
#include "plan/sample_plan.h"

namespace penstock {

// Returns the transforms with each such Map among the steps of all fields that it names. A field that does
// not list the Map gets it as its last step.
Result<std::vector<FieldTransform>> spread_joint_maps(std::vector<FieldTransform> transforms);

// Adds the Maps to the plan, in an order that keeps the order of steps of every field. Fails if there is no
// such order.
Status plan_joint_maps(const std::vector<FieldTransform>& transforms, SamplePlan& plan);

}  // namespace penstock
