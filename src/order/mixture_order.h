// The order of a mixture: maps positions to a part of the mixture and one of its samples.
#pragma once

#include <memory>

#include "order/epoch_order.h"

namespace penstock {

// The positions are divided into blocks. Each block has, to within one sample, the share of every part, in
// permuted order. So the shares hold over any range of positions, and the sample at a position is found
// without counting from the start. Each part has its own passes, one after another.
std::unique_ptr<const EpochOrder> make_mixture_order(const OrderSpec& spec, std::uint64_t size,
                                                     std::uint64_t epoch);

}  // namespace penstock
