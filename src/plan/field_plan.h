// From the user's words (fields, renames, transforms) to what is done to each field.
#pragma once

#include "penstock/loader.h"
#include "plan/sample_plan.h"

namespace penstock {

Result<SamplePlan> plan_fields(SourcePtr source, const LoaderOptions& options);

}  // namespace penstock
