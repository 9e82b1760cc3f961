// Finds the best number of requests in flight by experiment.
//
// Little's law says: requests in flight = latency x rate. More of them raise the rate until the server, the network or
// this machine is saturated; from then on they only wait for each other. So the window doubles while that pays. If it
// did not pay even once, it halves while that costs nothing. Then it tries a few more and a few fewer from time to
// time, and keeps what is clearly better. It starts high, because an epoch of seconds has no time for a climb. Periods
// in which there were too few reads to fill the window say nothing and are not judged.
// Belongs to one thread; any thread may call limit() and in_flight().
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

  std::size_t base_limit_ = 0;  // the limit to compare with; 0: none yet
  double base_rate_ = 0;
  std::size_t refused_limit_ = 0;  // the limit at which the server last refused requests; 0: none
  int windows_to_hold_ = 0;
  int next_hold_ = 0;  // grows while experiments change nothing

  // The period that is being measured. Requests that were sent before it are not counted.
  std::size_t to_skip_ = 0;
  Clock::time_point window_start_{}, last_event_{};
  double flight_seconds_ = 0;  // in-flight requests x time
  std::uint64_t requests_ = 0, done_ = 0, bytes_ = 0, pushed_back_ = 0;
};

}  // namespace penstock
