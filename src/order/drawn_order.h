// The order of samples that are drawn at random instead of gone through.
#pragma once

#include <memory>

#include "order/epoch_order.h"

namespace penstock {

// The visits of a pass come in permuted order, pass after pass, and each makes a few draws; the draws of
// `window_units` visits are mixed. Epochs are stretches of this endless walk, so every draw is still
// a function of (seed, epoch, position). A full shuffle makes one draw per visit.
std::unique_ptr<const EpochOrder> make_drawn_order(const OrderSpec& spec, std::uint64_t size,
                                                   std::uint64_t epoch);

}  // namespace penstock
