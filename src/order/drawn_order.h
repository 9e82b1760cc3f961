// The order of samples that are drawn at random instead of gone through.
#pragma once

#include <memory>

#include "order/epoch_order.h"

namespace penstock {

// Regions are visited in permuted order, over and over, each time for a few draws; the draws of
// `window_units` visits are mixed. Epochs are stretches of this endless walk, so every draw is still
// a function of (seed, epoch, position), and over many visits all regions come equally often. A full
// shuffle draws each sample from a region of its own.
std::unique_ptr<const EpochOrder> make_drawn_order(const OrderSpec& spec, std::uint64_t size,
                                                   std::uint64_t epoch);

}  // namespace penstock
