// When to try again what failed: later and later, with jitter, and not too often in all.
#pragma once

#include <chrono>

#include "base/stats.h"

namespace penstock {

struct RetryOptions {
  std::chrono::milliseconds first_delay{50};
  std::chrono::milliseconds longest_delay{5'000};
  std::chrono::milliseconds longest_wish{30'000};  // of a server that says how long to wait
  // After the first failure. Longer than an outage that a run should survive; what ends a request
  // that keeps failing is this, the number of tries is a second line.
  std::chrono::milliseconds give_up_after{90'000};
  int max_tries = 60;
  int max_odd_answers = 3;  // of a server that answers, but not what was asked for
};

// Before the next try after `failures` of them (1 or more): anything up to the doubled delay, since
// those who failed together must not come back together. `uniform` is in [0, 1).
std::chrono::milliseconds backoff_delay(const RetryOptions& options, int failures, double uniform);

// How many retries a server gets from all requests together: one for every five requests, some to
// begin with, and two a second in any case, so that an outage is noticed to be over. Who is refused
// waits. One thread.
class RetryBudget {
 public:
  void request_sent() { add(0.2); }
  // A retry that worked was no burden.
  void retry_worked() { add(1); }

  bool try_take(Clock::time_point now);
  // When asking again may help.
  Clock::time_point next_chance(Clock::time_point now) const;

 private:
  static constexpr double kFirst = 10, kMax = 100, kPerSecond = 2;
  void add(double tokens) { tokens_ = tokens_ + tokens > kMax ? kMax : tokens_ + tokens; }

  double tokens_ = kFirst;
  Clock::time_point updated_{};
};

}  // namespace penstock
