#include "store/http/request_window.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr double kWindowSeconds = 0.25, kClimbSeconds = 0.1;  // while doubling, which shows at once
constexpr std::size_t kWindowRounds = 2, kClimbRounds = 1;
constexpr double kFullEnough = 0.75;      // of the limit, on average: below it, we asked for too little
constexpr double kDoublingPays = 1.2;     // the rate, compared with half as many
constexpr double kHalvingCosts = 0.97;    // below this share of the rate, compared with twice as many
constexpr double kShareOfMore = 0.3;      // of the gain that unlimited servers would give
constexpr double kFewerPays = 1.03;       // fewer are only better where servers suffer from many
constexpr double kRateIsAnother = 0.25;   // the world has changed: look around sooner
constexpr double kPushedBackShare = 0.1;  // of all answers
constexpr int kShortHold = 8, kLongHold = 64;
constexpr double kBytesOfRequest = 16384;  // what a request costs beside its bytes

}  // namespace

RequestWindow::RequestWindow(std::size_t most)
    : least_(std::clamp<std::size_t>(most, 1, kLeast)),
      most_(std::max<std::size_t>(most, 1)),
      limit_(std::min(kFirst, most_)),
      next_hold_(kShortHold) {}

void RequestWindow::sent(Clock::time_point now) {
  pass_time(now);
  in_flight_.store(in_flight_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void RequestWindow::ended(Clock::time_point now, std::uint64_t bytes, Outcome outcome) {
  pass_time(now);
  in_flight_.store(in_flight_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  if (to_skip_ > 0) {
    if (--to_skip_ == 0) begin_window(now);
    return;
  }
  ++requests_;
  pushed_back_ += outcome == Outcome::kPushedBack ? 1 : 0;
  if (outcome == Outcome::kDone) {
    ++done_;
    bytes_ += bytes;
  }
  const double seconds = seconds_between(window_start_, now);
  const bool climbs = phase_ == Phase::kDoubling;
  if (seconds < (climbs ? kClimbSeconds : kWindowSeconds)) return;
  if (requests_ < limit() * (climbs ? kClimbRounds : kWindowRounds)) return;
  const bool is_telling = flight_seconds_ >= kFullEnough * static_cast<double>(limit()) * seconds;
  if (is_telling) {
    const bool is_too_much =
        static_cast<double>(pushed_back_) > kPushedBackShare * static_cast<double>(requests_);
    const double rate =
        (static_cast<double>(bytes_) + kBytesOfRequest * static_cast<double>(done_)) / seconds;
    if (is_too_much && pushed_back_ > 2)
      step_back();
    else
      judge(rate);
  }
  begin_window(now);
}

void RequestWindow::pass_time(Clock::time_point now) {
  const std::size_t flying = in_flight_.load(std::memory_order_relaxed);
  if (last_event_ == Clock::time_point{}) {
    begin_window(now);
  } else {
    flight_seconds_ += static_cast<double>(std::min(flying, limit())) * seconds_between(last_event_, now);
  }
  last_event_ = now;
}

void RequestWindow::begin_window(Clock::time_point now) {
  window_start_ = now;
  flight_seconds_ = 0;
  requests_ = done_ = bytes_ = pushed_back_ = 0;
}

void RequestWindow::judge(double rate) {
  const std::size_t now = limit();
  switch (phase_) {
    case Phase::kDoubling:
      if (base_limit_ != 0 && rate < kDoublingPays * base_rate_) {
        if (base_limit_ > kFirst)
          hold(base_limit_, base_rate_, kShortHold);
        else
          go_to(std::max(least_, base_limit_ / 2), Phase::kHalving);
      } else if (now >= most_) {
        hold(now, rate, kShortHold);
      } else {
        base_limit_ = now;
        base_rate_ = rate;
        go_to(std::min(most_, 2 * now), Phase::kDoubling);
      }
      return;
    case Phase::kHalving:
      if (rate < kHalvingCosts * base_rate_) {
        hold(base_limit_, base_rate_, kShortHold);
      } else {
        base_limit_ = now;
        base_rate_ = std::max(base_rate_, rate);
        if (now <= least_)
          hold(now, base_rate_, kShortHold);
        else
          go_to(std::max(least_, now / 2), Phase::kHalving);
      }
      return;
    case Phase::kHolding:
      if (base_rate_ == 0) base_rate_ = rate;
      if (rate > base_rate_ * (1 + kRateIsAnother) || rate < base_rate_ * (1 - kRateIsAnother)) {
        next_hold_ = kShortHold;
        windows_to_hold_ = std::min(windows_to_hold_, kShortHold);
      }
      base_rate_ = (base_rate_ + rate) / 2;
      if (--windows_to_hold_ > 0) return;
      if (now < most_)
        go_to(some_more(), Phase::kTryingMore);
      else if (now > least_)
        go_to(std::max(least_, now - step()), Phase::kTryingFewer);
      return;
    case Phase::kTryingMore: {
      const double more = static_cast<double>(now) / static_cast<double>(base_limit_) - 1;
      if (rate > base_rate_ * (1 + kShareOfMore * more)) {
        next_hold_ = kShortHold;
        hold(now, rate, 1);
      } else if (base_limit_ > least_) {
        go_to(std::max(least_, base_limit_ - std::min(step(), base_limit_ - least_)), Phase::kTryingFewer);
      } else {
        hold(base_limit_, base_rate_, next_hold_);
      }
      return;
    }
    case Phase::kTryingFewer:
      if (rate > base_rate_ * kFewerPays) {
        next_hold_ = kShortHold;
        hold(now, rate, 1);
      } else {
        hold(base_limit_, base_rate_, next_hold_);
        next_hold_ = std::min(2 * next_hold_, kLongHold);
      }
      return;
  }
}

// The server refused requests: go back to the last good limit, or below it if it is the same.
void RequestWindow::step_back() {
  refused_limit_ = limit();
  if (base_limit_ != 0 && base_limit_ < limit()) {
    hold(base_limit_, base_rate_, next_hold_);
    next_hold_ = std::min(2 * next_hold_, kLongHold);
  } else {
    hold(std::max(least_, limit() * 3 / 4), 0, next_hold_);
  }
}

void RequestWindow::hold(std::size_t limit, double rate, int windows) {
  base_limit_ = limit;
  base_rate_ = rate;
  windows_to_hold_ = windows;
  go_to(limit, Phase::kHolding);
}

void RequestWindow::go_to(std::size_t limit, Phase phase) {
  if (limit != this->limit()) to_skip_ = std::max(limit, this->limit());
  limit_.store(limit, std::memory_order_relaxed);
  phase_ = phase;
}

std::size_t RequestWindow::step() const { return std::max<std::size_t>(2, base_limit_ / 8); }

// Half way to the limit that the server refused; once nothing lies between, beyond it, because the server may have
// recovered.
std::size_t RequestWindow::some_more() {
  const std::size_t now = limit(), more = std::min(most_, now + step());
  if (refused_limit_ > now + 1) return std::min(more, (now + refused_limit_) / 2);
  refused_limit_ = 0;
  return more;
}

}  // namespace penstock
