#include "cache/admission.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

constexpr double kAmple = 1.1;       // a little more than would do: what is not let in is gone for this epoch
constexpr double kMaxListed = 0.8;  // from here on, choosing saves next to nothing
constexpr std::uint64_t kFewVisits = 32;  // nothing can be told from

}  // namespace

void Admission::start(std::uint64_t visits) {
  const std::lock_guard lock(mutex_);
  is_first_ = epochs_++ == 0;
  visits_ = visits;
  visited_ = 0;
  bytes_seen_ = 0;
}

bool Admission::lets_in(double share, std::uint64_t entry_bytes, std::uint64_t free_bytes) {
  const std::lock_guard lock(mutex_);
  if (!is_first_) return true;
  shares_[visited_ % kRemembered] = static_cast<float>(share);
  ++visited_;
  bytes_seen_ += static_cast<double>(entry_bytes);
  const double mean_bytes = std::max(1.0, bytes_seen_ / static_cast<double>(visited_));
  const double to_come = visits_ > visited_ ? static_cast<double>(visits_ - visited_) + 1 : 1;
  // Those to come may be smaller than those that were: the fewer they are, the more so.
  const double left = std::max(1.0, to_come - 2 * std::sqrt(to_come));
  const double wanted = kAmple * static_cast<double>(free_bytes) / mean_bytes / left;  // of those to come
  if (wanted >= kMaxListed || visited_ <= kFewVisits) return true;
  // Among the highest shares of late?
  const auto known = std::min<std::uint64_t>(visited_, kRemembered);
  const auto higher = std::count_if(shares_.begin(), shares_.begin() + static_cast<std::ptrdiff_t>(known),
                                    [&](float other) { return other > static_cast<float>(share); });
  return static_cast<double>(higher) < wanted * static_cast<double>(known);
}

}  // namespace penstock
