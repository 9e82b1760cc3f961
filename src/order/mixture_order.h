// Which part of a mixture, and which of its samples, stands at a position.
#pragma once

#include <memory>

#include "order/epoch_order.h"

namespace penstock {

// Blocks of positions hold each part's share of them to within one sample; where in the block each
// stands is a permutation. So the share is exact over any stretch, and nothing needs to be counted
// up to find the sample at a position. Every part is gone through by itself, over and over.
std::unique_ptr<const EpochOrder> make_mixture_order(const OrderSpec& spec, std::uint64_t size,
                                                     std::uint64_t epoch);

}  // namespace penstock
