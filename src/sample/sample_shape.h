// The types and shapes that the fields of a sample have in a batch.
#pragma once

#include "batch/slot_layout.h"
#include "penstock/loader.h"
#include "sample/sample_worker.h"

namespace penstock {

struct SampleShape {
  std::vector<LayoutField> fields;
  std::uint64_t variable_bytes = 0;  // size of the values that vary, in the sample that was measured
};

// Derives types and shapes from the transforms if they determine them, and otherwise measures the first sample that can
// be read. `collate` decides how fields are stored whose samples may differ in shape.
Result<SampleShape> find_shape(const SamplePlan& plan, const LoaderOptions& options,
                               const ProbeMemory& memory, const SharedReads& shared);

// Adds, after each padded field, a field with the shapes that its samples had before. Fails if that name is taken, or
// if the type of the field cannot hold pad_value.
Status add_lengths(std::vector<LayoutField>& fields, const LoaderOptions& options, SamplePlan& plan);

}  // namespace penstock
