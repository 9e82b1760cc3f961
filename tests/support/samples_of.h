// An order as the list of its samples.
#pragma once

#include <cstdint>
#include <vector>

#include "order/epoch_order.h"

namespace penstock {

inline std::vector<std::uint64_t> samples_of(const OrderSpec& spec, std::uint64_t epoch) {
  const auto order = make_epoch_order(spec, epoch);
  std::vector<std::uint64_t> out;
  for (std::uint64_t p = 0; p < order->size(); ++p) out.push_back(order->sample_at(p));
  return out;
}

}  // namespace penstock
