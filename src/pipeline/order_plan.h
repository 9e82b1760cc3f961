// From the user's words (shuffle, sampler, weights, buckets) to the order of this source.
#pragma once

#include "order/epoch_order.h"
#include "penstock/loader.h"

namespace penstock {

Result<OrderSpec> plan_order(const Source& source, const LoaderOptions& options);

}  // namespace penstock
