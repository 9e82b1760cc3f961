// Brings samples of like length together, so that padding is short.
#pragma once

#include <memory>

#include "order/epoch_order.h"

namespace penstock {

// Within windows of kRunsAWindow runs the positions of `inner` are sorted by length, cut into runs,
// and the runs put into random order. Every sample keeps its window, so each still comes exactly
// once, and the order is as good a shuffle as the window is large.
std::unique_ptr<const EpochOrder> make_bucket_order(std::unique_ptr<const EpochOrder> inner,
                                                    const OrderSpec& spec, std::uint64_t epoch);

constexpr std::uint64_t kRunsAWindow = 100;

}  // namespace penstock
