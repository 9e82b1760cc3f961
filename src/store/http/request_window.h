// How many requests to have in flight, found by trying.
//
// Little's law: requests in flight = latency x rate. More of them raise the rate until the server,
// the network or we are full; from then on they only wait for each other. So: double while that
// pays; where it did not pay even once, halve while that costs nothing; then keep trying a few more
// and a few fewer, and keep what is clearly better. It starts high: an epoch of seconds has no time
// for a climb. Stretches of time in which we did not have enough to ask for say nothing and are not
// judged.
// One thread; limit() may be read by any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/stats.h"

namespace penstock {

class RequestWindow {
 public:
  static constexpr std::size_t kFirst = 32, kLeast = 4;

  explicit RequestWindow(std::size_t most);

  std::size_t limit() const { return limit_.load(std::memory_order_relaxed); }
  std::size_t in_flight() const { return in_flight_.load(std::memory_order_relaxed); }

  void sent(Clock::time_point now);
  enum class Outcome : std::uint8_t {
    kDone,
    kFailed,
    kPushedBack,  // the server said that this is too much (429, 503)
  };
  void ended(Clock::time_point now, std::uint64_t bytes, Outcome outcome = Outcome::kDone);

 private:
  enum class Phase : std::uint8_t { kDoubling, kHalving, kHolding, kTryingMore, kTryingFewer };

  void pass_time(Clock::time_point now);
  void begin_window(Clock::time_point now);
  void judge(double rate);
  void step_back();
  void go_to(std::size_t limit, Phase phase);
  void hold(std::size_t limit, double rate, int windows);
  std::size_t step() const;
  std::size_t some_more();

  const std::size_t least_, most_;
  std::atomic<std::size_t> limit_;
  std::atomic<std::size_t> in_flight_{0};
  Phase phase_ = Phase::kDoubling;

  std::size_t base_limit_ = 0;  // what is compared with; 0: nothing yet
  double base_rate_ = 0;
  std::size_t refused_limit_ = 0;  // the server last said at so many that it is too much; 0: never
  int windows_to_hold_ = 0;
  int next_hold_ = 0;  // grows while trying changes nothing

  // The window that is measured now; what was sent under the limit before it is not counted.
  std::size_t to_skip_ = 0;
  Clock::time_point window_start_{}, last_event_{};
  double flight_seconds_ = 0;  // in-flight requests x time
  std::uint64_t requests_ = 0, done_ = 0, bytes_ = 0, pushed_back_ = 0;
};

}  // namespace penstock
