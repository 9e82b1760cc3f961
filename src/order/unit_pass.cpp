// A windowed shuffle over units of different sizes.
//
// Units with random access are permuted. The units of a stream keep their order: the streams are permuted,
// and `window_units` streams at a time contribute one unit each in turn, so that neighbouring units come from
// different shards and every shard is read forward once. Then, as for units of equal size, samples are
// permuted within windows of `window_units` units.
#include <algorithm>
#include <utility>

#include "order/pass.h"
#include "order/permutation.h"

namespace penstock {
namespace {

std::vector<std::uint64_t> permuted(std::uint64_t count, std::uint64_t key) {
  std::vector<std::uint64_t> order(count);
  if (count == 0) return order;
  const Permutation permutation(count, key);
  for (std::uint64_t i = 0; i < count; ++i) order[i] = permutation(i);
  return order;
}

std::vector<std::uint64_t> interleaved(const OrderSpec& spec, std::uint64_t pass) {
  // The units of a stream are consecutive.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> streams;  // first unit, end
  const std::vector<std::uint32_t>& of = spec.units->stream;
  for (std::uint64_t unit = 0; unit < of.size(); ++unit) {
    if (unit == 0 || of[unit] != of[unit - 1]) streams.emplace_back(unit, unit);
    streams.back().second = unit + 1;
  }
  const auto shuffled = permuted(streams.size(), derive_key(spec.seed, pass, KeyPurpose::kUnits));
  const std::uint64_t together = std::max<std::uint64_t>(spec.window_units, 1);
  std::vector<std::uint64_t> order;
  for (std::uint64_t group = 0; group < shuffled.size(); group += together) {
    const std::uint64_t end = std::min<std::uint64_t>(group + together, shuffled.size());
    for (std::uint64_t round = 0;; ++round) {
      const std::uint64_t at_round = order.size();
      for (std::uint64_t i = group; i < end; ++i) {
        const auto& [first, last] = streams[shuffled[i]];
        if (first + round < last) order.push_back(first + round);
      }
      if (order.size() == at_round) break;
    }
  }
  return order;
}

class UnitPass final : public Pass {
 public:
  UnitPass(const OrderSpec& spec, std::uint64_t pass)
      : units_(spec.units),
        seed_(spec.seed),
        pass_(pass),
        per_window_(std::max<std::uint64_t>(spec.window_units, 1)) {
    order_ = spec.units->stream.empty()
                 ? permuted(spec.units->first_sample.size() - 1, derive_key(seed_, pass, KeyPurpose::kUnits))
                 : interleaved(spec, pass);
    first_position_.reserve(order_.size() + 1);
    std::uint64_t position = 0;
    for (const std::uint64_t unit : order_) {
      first_position_.push_back(position);
      position += units_->first_sample[unit + 1] - units_->first_sample[unit];
    }
    first_position_.push_back(position);
  }

  std::uint64_t at(std::uint64_t position) const override {
    const std::uint64_t window = unit_at(position) / per_window_;
    const std::uint64_t begin = first_position_[window * per_window_];
    const std::uint64_t end =
        first_position_[std::min<std::uint64_t>((window + 1) * per_window_, order_.size())];
    const Permutation inside(end - begin, derive_key(seed_, pass_, KeyPurpose::kWindow, window));
    const std::uint64_t slot = begin + inside(position - begin);
    const std::uint64_t unit = unit_at(slot);
    return units_->first_sample[order_[unit]] + (slot - first_position_[unit]);
  }

 private:
  // Returns the index in `order_` of the unit that holds the position.
  std::uint64_t unit_at(std::uint64_t position) const {
    return static_cast<std::uint64_t>(std::ranges::upper_bound(first_position_, position) -
                                      first_position_.begin()) -
           1;
  }

  std::shared_ptr<const StorageUnits> units_;
  std::uint64_t seed_, pass_, per_window_;
  std::vector<std::uint64_t> order_;           // the units in the order of this pass
  std::vector<std::uint64_t> first_position_;  // by index in `order_`, and the end
};

}  // namespace

std::unique_ptr<const Pass> make_unit_pass(const OrderSpec& spec, std::uint64_t pass) {
  return std::make_unique<UnitPass>(spec, pass);
}

}  // namespace penstock
