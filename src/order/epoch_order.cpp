#include "order/epoch_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/random.h"
#include "order/permutation.h"

namespace penstock {
namespace {

// Streams of keys, so that no two uses of one seed see the same numbers.
enum KeyPurpose : std::uint64_t { kFullKey = 1, kUnitKey = 2, kWindowKey = 3, kWeightKey = 4 };

std::uint64_t derive_key(std::uint64_t seed, std::uint64_t pass, std::uint64_t purpose,
                         std::uint64_t part = 0) {
  return mix64(mix64(mix64(mix64(seed) ^ pass) ^ purpose) ^ part);
}

// One pass over `count` things: position -> thing.
class Pass {
 public:
  virtual ~Pass() = default;
  virtual std::uint64_t at(std::uint64_t position) const = 0;
};

class SequentialPass final : public Pass {
 public:
  std::uint64_t at(std::uint64_t position) const override { return position; }
};

class FullPass final : public Pass {
 public:
  FullPass(std::uint64_t count, std::uint64_t key) : permutation_(count, key) {}
  std::uint64_t at(std::uint64_t position) const override { return permutation_(position); }

 private:
  Permutation permutation_;
};

// Units of equal size (the last may be short) in permuted order, cut into windows of n units;
// inside a window the samples are permuted. All by arithmetic: the one irregularity is the short
// unit, whose place the inverse permutation tells.
class WindowPass final : public Pass {
 public:
  WindowPass(const OrderSpec& spec, std::uint64_t count, std::uint64_t pass)
      : count_(count),
        unit_(std::clamp<std::uint64_t>(spec.unit_samples, 1, std::max<std::uint64_t>(count, 1))),
        per_window_(std::max<std::uint64_t>(spec.window_units, 1)),
        seed_(spec.seed),
        pass_(pass),
        units_((count + unit_ - 1) / unit_, derive_key(spec.seed, pass, kUnitKey)) {
    missing_ = units_.size() * unit_ - count_;
    short_place_ = missing_ ? units_.inverse(units_.size() - 1) : units_.size();
  }

  std::uint64_t at(std::uint64_t position) const override {
    const std::uint64_t full = per_window_ * unit_;
    const std::uint64_t short_window = short_place_ / per_window_;
    const bool past_short = position >= start_of(short_window + 1);
    const std::uint64_t window = (position + (past_short ? missing_ : 0)) / full;
    const std::uint64_t begin = start_of(window);
    const Permutation inside(start_of(window + 1) - begin, derive_key(seed_, pass_, kWindowKey, window));
    std::uint64_t slot = inside(position - begin);
    // What follows the short unit in its window moves up by the samples it lacks.
    const std::uint64_t first_unit = window * per_window_;
    if (window == short_window && slot + missing_ >= (short_place_ - first_unit + 1) * unit_)
      slot += missing_;
    return units_(first_unit + slot / unit_) * unit_ + slot % unit_;
  }

 private:
  std::uint64_t start_of(std::uint64_t window) const {
    const std::uint64_t unit = std::min(window * per_window_, units_.size());
    return unit * unit_ - (missing_ && short_place_ < unit ? missing_ : 0);
  }

  std::uint64_t count_, unit_, per_window_, seed_, pass_;
  Permutation units_;
  std::uint64_t missing_ = 0, short_place_ = 0;
};

std::unique_ptr<const Pass> make_pass(const OrderSpec& spec, std::uint64_t count, std::uint64_t pass) {
  switch (spec.shuffle) {
    case Shuffle::kFull: return std::make_unique<FullPass>(count, derive_key(spec.seed, pass, kFullKey));
    case Shuffle::kWindow: return std::make_unique<WindowPass>(spec, count, pass);
    case Shuffle::kNone: break;
  }
  return std::make_unique<SequentialPass>();
}

// Epoch e covers positions [e * size, (e + 1) * size) of an endless walk through passes, so an
// epoch shorter than a pass goes on where the last one stopped, and a longer one begins the next.
class WalkOrder final : public EpochOrder {
 public:
  WalkOrder(const OrderSpec& spec, std::uint64_t count, std::uint64_t size, std::uint64_t epoch)
      : EpochOrder(size),
        spec_(spec),
        count_(count) {
    if (count == 0 || size == 0) return;
    first_ = static_cast<unsigned __int128>(epoch) * size;
    first_pass_ = static_cast<std::uint64_t>(first_ / count);
    first_made_ = make_pass(spec_, count, first_pass_);
  }

  std::uint64_t sample_at(std::uint64_t position) const override {
    const unsigned __int128 place = first_ + position;
    const auto pass = static_cast<std::uint64_t>(place / count_);
    const auto within = static_cast<std::uint64_t>(place % count_);
    // Most epochs are one pass. Further ones are cheap to make, and there may be very many.
    const std::uint64_t thing =
        pass == first_pass_ ? first_made_->at(within) : make_pass(spec_, count_, pass)->at(within);
    return spec_.indices ? (*spec_.indices)[static_cast<std::size_t>(thing)] : thing;
  }

 private:
  const OrderSpec spec_;
  std::uint64_t count_;
  unsigned __int128 first_ = 0;
  std::uint64_t first_pass_ = 0;
  std::unique_ptr<const Pass> first_made_;
};

class WeightedOrder final : public EpochOrder {
 public:
  WeightedOrder(const OrderSpec& spec, std::uint64_t size, std::uint64_t epoch)
      : EpochOrder(size),
        seed_(derive_key(spec.seed, 0, kWeightKey)),
        epoch_(epoch) {
    cumulative_.reserve(spec.weights->size());
    double sum = 0;
    for (double weight : *spec.weights) cumulative_.push_back(sum += weight);
  }

  std::uint64_t sample_at(std::uint64_t position) const override {
    Draws draws(seed_, epoch_, position);
    const double wanted = draws.uniform() * cumulative_.back();
    auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), wanted);
    if (found == cumulative_.end()) --found;  // rounding at the very end
    return static_cast<std::uint64_t>(found - cumulative_.begin());
  }

 private:
  std::uint64_t seed_, epoch_;
  std::vector<double> cumulative_;
};

std::uint64_t drawn_from(const OrderSpec& spec) { return spec.indices ? spec.indices->size() : spec.samples; }

}  // namespace

Status check_order(const OrderSpec& spec) {
  if (spec.indices && spec.weights)
    return fail(ErrorCode::kInvalidArgument, "give sampler or weights, not both");
  if (spec.indices)
    for (std::uint64_t index : *spec.indices)
      if (index >= spec.samples)
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("sampler gave index {}, the source has {} samples", index, spec.samples));
  if (spec.weights) {
    if (spec.weights->size() != spec.samples)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} weights for {} samples", spec.weights->size(), spec.samples));
    double sum = 0;
    for (double weight : *spec.weights) {
      if (!std::isfinite(weight) || weight < 0)
        return fail(ErrorCode::kInvalidArgument, "weights must be finite and not negative");
      sum += weight;
    }
    if (!(sum > 0)) return fail(ErrorCode::kInvalidArgument, "all weights are zero");
    if (!std::isfinite(sum))
      return fail(ErrorCode::kInvalidArgument, "the weights sum to more than a number holds");
  }
  return {};
}

std::unique_ptr<const EpochOrder> make_epoch_order(const OrderSpec& spec, std::uint64_t epoch) {
  const std::uint64_t count = drawn_from(spec);
  std::uint64_t size = spec.epoch_size ? spec.epoch_size : count;
  if (count == 0) size = 0;
  if (spec.weights) return std::make_unique<WeightedOrder>(spec, size, epoch);
  return std::make_unique<WalkOrder>(spec, count, size, epoch);
}

std::uint64_t order_fingerprint(const OrderSpec& spec) {
  std::uint64_t hash = 0;
  const auto add = [&hash](std::uint64_t value) { hash = mix64(hash ^ value); };
  add(spec.samples);
  add(spec.epoch_size ? spec.epoch_size : drawn_from(spec));
  add(static_cast<std::uint64_t>(spec.shuffle));
  if (spec.shuffle == Shuffle::kWindow) {
    add(spec.unit_samples);
    add(spec.window_units);
  }
  add(spec.indices != nullptr);
  if (spec.weights)
    for (double weight : *spec.weights) add(std::bit_cast<std::uint64_t>(weight));
  return hash;
}

std::uint64_t list_fingerprint(const OrderSpec& spec) {
  std::uint64_t hash = 0;
  if (spec.indices)
    for (std::uint64_t index : *spec.indices) hash = mix64(hash ^ index);
  return hash;
}

}  // namespace penstock
