#include "order/pass.h"

#include <algorithm>

#include "base/random.h"
#include "order/permutation.h"

namespace penstock {
namespace {

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

// Permutes units of equal size, divides them into windows of n units, and permutes the samples within each
// window. It needs no table: the only irregularity is the last unit, which may be short, and the inverse
// permutation tells where it went.
class WindowPass final : public Pass {
 public:
  WindowPass(const OrderSpec& spec, std::uint64_t count, std::uint64_t pass)
      : count_(count),
        unit_(std::clamp<std::uint64_t>(spec.unit_samples, 1, std::max<std::uint64_t>(count, 1))),
        per_window_(std::max<std::uint64_t>(spec.window_units, 1)),
        seed_(spec.seed),
        pass_(pass),
        units_((count + unit_ - 1) / unit_, derive_key(spec.seed, pass, KeyPurpose::kUnits)) {
    missing_ = units_.size() * unit_ - count_;
    short_place_ = missing_ ? units_.inverse(units_.size() - 1) : units_.size();
  }

  std::uint64_t at(std::uint64_t position) const override {
    const std::uint64_t full = per_window_ * unit_;
    const std::uint64_t short_window = short_place_ / per_window_;
    const bool past_short = position >= start_of(short_window + 1);
    const std::uint64_t window = (position + (past_short ? missing_ : 0)) / full;
    const std::uint64_t begin = start_of(window);
    const Permutation inside(start_of(window + 1) - begin,
                             derive_key(seed_, pass_, KeyPurpose::kWindow, window));
    std::uint64_t slot = inside(position - begin);
    // Units after the short one, in its window, move forward by the number of samples that it lacks.
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

}  // namespace

std::uint64_t derive_key(std::uint64_t seed, std::uint64_t pass, KeyPurpose purpose, std::uint64_t part) {
  return mix64(mix64(mix64(mix64(seed) ^ pass) ^ static_cast<std::uint64_t>(purpose)) ^ part);
}

std::unique_ptr<const Pass> make_pass(const OrderSpec& spec, std::uint64_t count, std::uint64_t pass) {
  switch (spec.shuffle) {
    case Shuffle::kFull:
      return std::make_unique<FullPass>(count, derive_key(spec.seed, pass, KeyPurpose::kFull));
    case Shuffle::kWindow:
      if (spec.units) return make_unit_pass(spec, pass);
      return std::make_unique<WindowPass>(spec, count, pass);
    case Shuffle::kNone: break;
  }
  return std::make_unique<SequentialPass>();
}

}  // namespace penstock
