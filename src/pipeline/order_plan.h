// Translates the user's options (shuffle, sampler, weights, buckets) into the order of this source.
#pragma once

#include "order/epoch_order.h"
#include "penstock/loader.h"

namespace penstock {

Result<OrderSpec> plan_order(const Source& source, const LoaderOptions& options);

// Measures how good the shuffle is, for batches of this many samples over all ranks.
ShuffleStats describe_shuffle(const OrderSpec& order, std::uint64_t batch_samples);

}  // namespace penstock
