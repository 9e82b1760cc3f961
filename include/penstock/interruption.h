// Cancels slow work, for instance when the user presses Ctrl-C while a source is being opened.
//
// Functions that may take long check the Interruption of their thread at least ten times per second and then
// return kStopped. The Interruption belongs to the thread, so that it need not be passed through every
// function that reads. A function that starts threads installs its own Interruption in them with a Scope.
//
//   Interruption interruption([] { return user_pressed_ctrl_c(); });
//   const Interruption::Scope scope(&interruption, true);
//   auto source = open_source(uri, options);  // fails with kStopped after Ctrl-C
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "penstock/result.h"

namespace penstock {

// The caller owns it, and it must outlive every Scope that names it. Any thread may call request(); a request cannot be
// withdrawn. Several threads may have Scopes of the same Interruption at the same time, but `asks` may be set in only
// one of them, because the function that is asked is called without a lock.
class Interruption {
  struct Slot {
    Interruption* interruption = nullptr;
    bool asks = false;
  };

 public:
  static constexpr auto kLookEvery = std::chrono::milliseconds(50);

  // Only request() interrupts.
  Interruption() = default;
  // `asked` returns true once the work is to stop. Only the thread whose Scope has `asks` set calls it, and
  // at most once per kAskEvery, because it may be slow (it may take Python's interpreter lock) and loops
  // check often.
  explicit Interruption(std::function<bool()> asked) : asked_(std::move(asked)) {}
  Interruption(const Interruption&) = delete;

  void request() { requested_.store(true); }

  // The Interruption of this thread; nullptr if it has none and thus cannot be interrupted.
  static Interruption* current() { return slot().interruption; }
  static bool is_requested() {
    const Slot& mine = slot();
    if (mine.interruption == nullptr) return false;
    if (mine.asks) mine.interruption->ask();
    return mine.interruption->requested_.load(std::memory_order_relaxed);
  }

  // Makes `interruption` that of the current thread for the lifetime of the Scope, then restores the former
  // one.
  class Scope {
   public:
    explicit Scope(Interruption* interruption, bool asks = false)
        : before_(std::exchange(slot(), Slot{interruption, asks})) {}
    Scope(const Scope&) = delete;
    ~Scope() { slot() = before_; }

   private:
    const Slot before_;
  };

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kAskEvery = std::chrono::milliseconds(20);

  static Slot& slot() {
    thread_local Slot mine;
    return mine;
  }

  void ask() {
    const Clock::time_point now = Clock::now();
    if (!asked_ || now - asked_at_ < kAskEvery || requested_.load(std::memory_order_relaxed)) return;
    asked_at_ = now;
    if (asked_()) request();
  }

  const std::function<bool()> asked_;
  Clock::time_point asked_at_{};  // used only by the thread that asks
  std::atomic<bool> requested_{false};
};

// Fails with kStopped once this thread was interrupted. `uri` appears in the error.
inline Status check_interruption(const std::string& uri) {
  if (!Interruption::is_requested()) return {};
  return fail(ErrorCode::kStopped, "stopped before it was done", {uri, -1, -1, -1});
}

// The same for loops of cheap steps: it checks only once per kStepsPerLook calls. Belongs to one thread.
class InterruptionCheck {
 public:
  bool is_due() { return ++steps_ % kStepsPerLook == 0; }
  Status operator()(const std::string& uri) { return is_due() ? check_interruption(uri) : Status(); }

 private:
  static constexpr std::uint32_t kStepsPerLook = 4096;
  std::uint32_t steps_ = 0;
};

}  // namespace penstock
