#include "order/epoch_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/guarded.h"
#include "base/random.h"
#include "order/bucket_order.h"
#include "order/drawn_order.h"
#include "order/mixture_order.h"
#include "order/pass.h"
#include "source/sample_draws.h"

namespace penstock {
namespace {

// Passes follow each other without end, and epoch e covers the positions [e * size, (e + 1) * size) of this
// sequence. So an epoch that is shorter than a pass continues where the previous one stopped, and a longer
// one continues into the next pass.
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
    const unsigned __int128 absolute = first_ + position;
    const auto pass = static_cast<std::uint64_t>(absolute / count_);
    const auto within = static_cast<std::uint64_t>(absolute % count_);
    const std::uint64_t index = pass == first_pass_ ? first_made_->at(within) : later_pass(pass)->at(within);
    return spec_.indices ? (*spec_.indices)[static_cast<std::size_t>(index)] : index;
  }

 private:
  // Most epochs are one pass. An epoch may also have very many passes; since they come one after another,
  // only the current one is cached.
  std::shared_ptr<const Pass> later_pass(std::uint64_t pass) const PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (!later_made_ || later_pass_ != pass) {
      later_made_ = make_pass(spec_, count_, pass);
      later_pass_ = pass;
    }
    return later_made_;
  }

  const OrderSpec spec_;
  std::uint64_t count_;
  unsigned __int128 first_ = 0;
  std::uint64_t first_pass_ = 0;
  std::unique_ptr<const Pass> first_made_;
  mutable Mutex mutex_;
  mutable std::uint64_t later_pass_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  mutable std::shared_ptr<const Pass> later_made_ PENSTOCK_GUARDED_BY(mutex_);
};

class WeightedOrder final : public EpochOrder {
 public:
  WeightedOrder(const OrderSpec& spec, std::uint64_t size, std::uint64_t epoch)
      : EpochOrder(size),
        seed_(derive_key(spec.seed, 0, KeyPurpose::kWeights)),
        epoch_(epoch) {
    cumulative_.reserve(spec.weights->size());
    double sum = 0;
    for (double weight : *spec.weights) cumulative_.push_back(sum += weight);
  }

  std::uint64_t sample_at(std::uint64_t position) const override {
    Draws draws(seed_, epoch_, position);
    const double wanted = draws.uniform() * cumulative_.back();
    auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), wanted);
    if (found == cumulative_.end()) --found;  // rounding can lead past the end
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
  if (spec.mixture && (spec.indices || spec.weights))
    return fail(ErrorCode::kInvalidArgument,
                "a weighted mixture decides itself what comes; sampler and weights do not apply");
  if (spec.draws && (spec.indices || spec.weights || spec.lengths))
    return fail(ErrorCode::kInvalidArgument,
                "random patches are drawn by the source; sampler, weights and buckets do not apply");
  if (spec.lengths && spec.lengths->size() != spec.samples)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} lengths for {} samples", spec.lengths->size(), spec.samples));
  return {};
}

std::unique_ptr<const EpochOrder> make_epoch_order(const OrderSpec& spec, std::uint64_t epoch) {
  const std::uint64_t count = drawn_from(spec);
  std::uint64_t size = spec.epoch_size ? spec.epoch_size : count;
  if (count == 0) size = 0;
  std::unique_ptr<const EpochOrder> order;
  if (spec.draws)
    order = make_drawn_order(spec, size, epoch);
  else if (spec.weights)
    order = std::make_unique<WeightedOrder>(spec, size, epoch);
  else if (spec.mixture)
    order = make_mixture_order(spec, size, epoch);
  else
    order = std::make_unique<WalkOrder>(spec, count, size, epoch);
  return spec.lengths ? make_bucket_order(std::move(order), spec, epoch) : std::move(order);
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
    if (spec.units)
      for (const std::uint64_t first : spec.units->first_sample) add(first);
  }
  if (spec.draws) {
    constexpr std::uint64_t kVersionOfDraws = 2;  // increment it with every change that lets the same seed draw other samples
    add(kVersionOfDraws);
    add(spec.draws->visits_per_pass());
    add(spec.draws->per_visit());
    add(spec.window_units);
  }
  if (spec.mixture)
    for (const double weight : spec.mixture->weights) add(std::bit_cast<std::uint64_t>(weight));
  if (spec.lengths)
    for (const std::uint64_t length : *spec.lengths) add(length);
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
