// Turns the user's options (fields, renames, transforms) into the plan of a sample.
#pragma once

#include "penstock/loader.h"
#include "plan/sample_plan.h"

namespace penstock {

Result<SamplePlan> plan_fields(SourcePtr source, const LoaderOptions& options);

}  // namespace penstock
