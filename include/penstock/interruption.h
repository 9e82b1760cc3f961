// Lets whoever waits for slow work be called back, for instance by Ctrl-C while a source is opened.
//
// Functions that may take long look at the interruption of their thread, at least ten times a second, so
// that it need not be handed through everything that reads. A function that starts threads hands it to them.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "penstock/result.h"

namespace penstock {

class Interruption {
  struct Slot {
    Interruption* interruption = nullptr;
    bool asks = false;
  };

 public:
  static constexpr auto kLookEvery = std::chrono::milliseconds(50);

  // Requested by request() alone.
  Interruption() = default;
  // `asked` is called by the thread that uses `Scope` with `asks`, and by no other, at most every kAskEvery:
  // to ask may be slow (Python's interpreter lock), and loops look often.
  explicit Interruption(std::function<bool()> asked) : asked_(std::move(asked)) {}
  Interruption(const Interruption&) = delete;

  void request() { requested_.store(true); }

  // Of this thread; nullptr: nobody will call it back.
  static Interruption* current() { return slot().interruption; }
  static bool is_requested() {
    const Slot& mine = slot();
    if (mine.interruption == nullptr) return false;
    if (mine.asks) mine.interruption->ask();
    return mine.interruption->requested_.load(std::memory_order_relaxed);
  }

  // While it lives, `interruption` is that of this thread.
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
  Clock::time_point asked_at_{};  // used by the thread that asks
  std::atomic<bool> requested_{false};
};

// kStopped once this thread was called back. `uri` is for the error.
inline Status check_interruption(const std::string& uri) {
  if (!Interruption::is_requested()) return {};
  return fail(ErrorCode::kStopped, "stopped before it was done", {uri, -1, -1, -1});
}

// The same for loops of cheap steps: looks once in kStepsPerLook calls. Belongs to one thread.
class InterruptionCheck {
 public:
  bool is_due() { return ++steps_ % kStepsPerLook == 0; }
  Status operator()(const std::string& uri) { return is_due() ? check_interruption(uri) : Status(); }

 private:
  static constexpr std::uint32_t kStepsPerLook = 4096;
  std::uint32_t steps_ = 0;
};

// Waits until `is_done`, under the mutex of `lock`; calls `give_up` (once, without the lock) if it is
// called back before. Whoever is waited for is still expected to come to an end, soon then.
template <typename Lock, typename Condition, typename IsDone, typename GiveUp>
void wait_interruptibly(Condition& condition, Lock& lock, IsDone is_done, GiveUp give_up) {
  bool has_given_up = Interruption::current() == nullptr;
  while (!has_given_up && !condition.wait_for(lock, Interruption::kLookEvery, is_done)) {
    lock.unlock();
    if (Interruption::is_requested()) {
      has_given_up = true;
      give_up();
    }
    lock.lock();
  }
  condition.wait(lock, is_done);
}

}  // namespace penstock
