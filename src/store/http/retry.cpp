#include "store/http/retry.h"

#include <algorithm>

namespace penstock {

std::chrono::milliseconds backoff_delay(const RetryOptions& options, int failures, double uniform) {
  const double doubled = static_cast<double>(options.first_delay.count()) *
                         static_cast<double>(std::uint64_t{1} << std::clamp(failures - 1, 0, 40));
  const double longest = std::min(doubled, static_cast<double>(options.longest_delay.count()));
  return std::chrono::milliseconds(static_cast<std::int64_t>(uniform * longest));
}

bool RetryBudget::try_take(Clock::time_point now) {
  // Time alone refills the budget only to its first value, so that an idle hour does not allow a storm.
  if (updated_ != Clock::time_point{} && now > updated_ && tokens_ < kFirst)
    tokens_ = std::min(kFirst, tokens_ + kPerSecond * seconds_between(updated_, now));
  updated_ = now;
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

Clock::time_point RetryBudget::next_chance(Clock::time_point now) const {
  const double missing = std::max(1 - tokens_, 0.0);
  return now + std::chrono::milliseconds(1 + static_cast<std::int64_t>(1000 * missing / kPerSecond));
}

}  // namespace penstock
