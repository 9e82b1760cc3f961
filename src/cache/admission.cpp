#include "cache/admission.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// Admits slightly more than needed, because an entry that is refused does not come again in this epoch.
constexpr double kMargin = 1.1;
constexpr double kMaxWantedShare = 0.8;   // if more than this is wanted, choosing saves almost nothing
constexpr std::uint64_t kMinVisits = 32;  // fewer shares say nothing about the distribution

}  // namespace

void Admission::start(std::uint64_t visits) {
  const MutexLock lock(mutex_);
  is_first_ = epochs_++ == 0;
  visits_ = visits;
  visited_ = 0;
  bytes_seen_ = 0;
}

bool Admission::admits(double share, std::uint64_t entry_bytes, std::uint64_t free_bytes) {
  const MutexLock lock(mutex_);
  if (!is_first_) return true;
  shares_[visited_ % kRemembered] = static_cast<float>(share);
  ++visited_;
  bytes_seen_ += static_cast<double>(entry_bytes);
  const double mean_bytes = std::max(1.0, bytes_seen_ / static_cast<double>(visited_));
  const double to_come = visits_ > visited_ ? static_cast<double>(visits_ - visited_) + 1 : 1;
  // The remaining entries may be smaller than the mean so far. The fewer they are, the more this matters.
  const double left = std::max(1.0, to_come - 2 * std::sqrt(to_come));
  const double wanted = kMargin * static_cast<double>(free_bytes) / mean_bytes / left;  // share of the remaining visits
  if (wanted >= kMaxWantedShare || visited_ <= kMinVisits) return true;
  // Admits the entry if its share is among the highest recent ones.
  const auto known = std::min<std::uint64_t>(visited_, kRemembered);
  const auto higher = std::count_if(shares_.begin(), shares_.begin() + static_cast<std::ptrdiff_t>(known),
                                    [&](float other) { return other > static_cast<float>(share); });
  return static_cast<double>(higher) < wanted * static_cast<double>(known);
}

}  // namespace penstock
