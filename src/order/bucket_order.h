// Brings samples of similar length together, so that batches need little padding.
#pragma once

#include <memory>

#include "order/epoch_order.h"

namespace penstock {

// Takes windows of kRunsPerWindow runs from `inner`. Within a window, the samples are sorted by length and
// cut into runs of spec.bucket_run samples, and the runs are put into random order. No sample leaves its
// window, so each one still comes exactly once.
std::unique_ptr<const EpochOrder> make_bucket_order(std::unique_ptr<const EpochOrder> inner,
                                                    const OrderSpec& spec, std::uint64_t epoch);

constexpr std::uint64_t kRunsPerWindow = 100;

}  // namespace penstock
