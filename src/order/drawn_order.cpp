#include "order/drawn_order.h"

#include <algorithm>

#include "order/pass.h"
#include "order/permutation.h"
#include "source/sample_draws.h"

namespace penstock {
namespace {

class DrawnOrder final : public EpochOrder {
 public:
  DrawnOrder(const OrderSpec& spec, std::uint64_t size, std::uint64_t epoch)
      : EpochOrder(size),
        draws_(*spec.draws),
        seed_(spec.seed),
        first_(epoch * size),
        per_visit_(spec.shuffle == Shuffle::kFull ? 1 : std::max<std::uint64_t>(draws_.per_visit(), 1)),
        window_(std::max<std::uint64_t>(spec.window_units, 1) * per_visit_) {}

  std::uint64_t sample_at(std::uint64_t position) const override {
    const std::uint64_t absolute = first_ + position, window = absolute / window_;
    const Permutation inside(window_, derive_key(seed_, window, KeyPurpose::kWindow));
    const std::uint64_t slot = window * window_ + inside(absolute % window_);
    const std::uint64_t visits = draws_.visits_per_pass();
    const std::uint64_t visit = slot / per_visit_, pass = visit / visits;
    const Permutation order(visits, derive_key(seed_, pass, KeyPurpose::kUnits));
    // The draws of a pass are equidistant points of a line. Their start moves by the golden ratio from pass
    // to pass, so that the points of many passes cover the line evenly.
    constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
    const std::uint64_t start = derive_key(seed_, 0, KeyPurpose::kPassOffset) + pass * kGoldenRatio;
    const std::uint64_t draw = order(visit % visits) * per_visit_ + slot % per_visit_;
    const auto point = static_cast<std::uint64_t>(((static_cast<unsigned __int128>(draw) << 64) + start) /
                                                  (visits * per_visit_));
    return draws_.draw(point, derive_key(seed_, slot, KeyPurpose::kDraws));
  }

 private:
  const SampleDraws& draws_;
  std::uint64_t seed_, first_, per_visit_, window_;
};

}  // namespace

std::unique_ptr<const EpochOrder> make_drawn_order(const OrderSpec& spec, std::uint64_t size,
                                                   std::uint64_t epoch) {
  return std::make_unique<DrawnOrder>(spec, size, epoch);
}

}  // namespace penstock
