// Converts a finished batch to the form that the user gets.
#pragma once

#include "batch/slot_layout.h"
#include "penstock/loader.h"
#include "pipeline/scheduler/batch_delivery.h"

namespace penstock {

void hand_over(const SlotLayout& layout, FinishedBatch& batch, Batch& out);

}  // namespace penstock
