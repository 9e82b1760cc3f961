// What a sample of this plan looks like in a batch.
#pragma once

#include "batch/slot_layout.h"
#include "penstock/loader.h"
#include "sample/sample_worker.h"

namespace penstock {

struct SampleShape {
  std::vector<LayoutField> fields;
  std::uint64_t variable_bytes = 0;  // of the sample that was looked at
};

// From the transforms where they fix type and shape, else from the first sample that can be read. Fields
// whose samples may differ are placed as `collate` says.
Result<SampleShape> find_shape(const SamplePlan& plan, const LoaderOptions& options,
                               const ProbeMemory& memory, const SharedReads& shared);

// Behind each padded field, the shapes that its samples had. Fails where that name is taken, or where the
// field cannot hold pad_value.
Status add_lengths(std::vector<LayoutField>& fields, const LoaderOptions& options, SamplePlan& plan);

}  // namespace penstock
