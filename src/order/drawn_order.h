// The order of a source whose samples are drawn at random, such as random patches of a volume.
#pragma once

#include <memory>

#include "order/epoch_order.h"

namespace penstock {

// A pass consists of visits in permuted order, and each visit makes a few draws; the draws of `window_units`
// visits are mixed. Pass follows pass without end, and an epoch is a range of this sequence, so every draw is
// a function of (seed, epoch, position). With a full shuffle, each visit makes one draw.
std::unique_ptr<const EpochOrder> make_drawn_order(const OrderSpec& spec, std::uint64_t size,
                                                   std::uint64_t epoch);

}  // namespace penstock
