// When to retry what failed: later and later, with jitter, and not too often in total.
#pragma once

#include <chrono>

#include "base/stats.h"

namespace penstock {

struct RetryOptions {
  std::chrono::milliseconds first_delay{50};
  std::chrono::milliseconds longest_delay{5'000};
  std::chrono::milliseconds longest_wish{30'000};  // the longest time that a server may ask us to wait
  // Counted from the first failure. It is longer than an outage that a run should survive. This usually ends a request
  // that keeps failing; the number of tries is only a second limit.
  std::chrono::milliseconds give_up_after{90'000};
  int max_tries = 60;
  int max_odd_answers = 3;  // answers that are not what was asked for
};

// The delay before the next try after `failures` failures (1 or more). It is drawn below a bound that doubles each
// time, so that requests that failed together do not return together. `uniform` is in [0, 1).
std::chrono::milliseconds backoff_delay(const RetryOptions& options, int failures, double uniform);

// Limits the retries of all requests together: one per five requests, a few at the beginning, and always two per
// second, so that the end of an outage is noticed. A request that is refused waits. Belongs to one thread.
class RetryBudget {
 public:
  void request_sent() { add(0.2); }
  // A retry that succeeded did not burden the server.
  void retry_worked() { add(1); }

  bool try_take(Clock::time_point now);
  // The next time at which try_take() may succeed.
  Clock::time_point next_chance(Clock::time_point now) const;

 private:
  static constexpr double kFirst = 10, kMax = 100, kPerSecond = 2;
  void add(double tokens) { tokens_ = tokens_ + tokens > kMax ? kMax : tokens_ + tokens; }

  double tokens_ = kFirst;
  Clock::time_point updated_{};
};

}  // namespace penstock
