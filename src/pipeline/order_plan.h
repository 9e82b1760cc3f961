// From the user's words (shuffle, sampler, weights, buckets) to the order of this source.
#pragma once

#include "order/epoch_order.h"
#include "penstock/loader.h"

namespace penstock {

Result<OrderSpec> plan_order(const Source& source, const LoaderOptions& options);

// How good the shuffle is, for batches of this many samples over all ranks.
ShuffleStats describe_shuffle(const OrderSpec& order, std::uint64_t batch_samples);

}  // namespace penstock
