// Lets whoever waits for a slow store be called back, for instance by Ctrl-C while a source is opened.
//
// Functions that may wait long look at the one of their thread, so that it need not be handed through
// everything that reads; a function that starts threads hands it to them.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

namespace penstock {

class Interruption {
  struct Slot {
    Interruption* interruption = nullptr;
    bool asks = false;
  };

 public:
  static constexpr auto kLookEvery = std::chrono::milliseconds(50);

  // `asked` is called by the thread that uses `Scope` with `asks`, and by no other.
  explicit Interruption(std::function<bool()> asked) : asked_(std::move(asked)) {}
  Interruption(const Interruption&) = delete;

  void request() { requested_.store(true); }

  // Of this thread; nullptr: nobody will call it back.
  static Interruption* current() { return slot().interruption; }
  static bool is_requested() {
    const Slot& mine = slot();
    if (mine.interruption == nullptr) return false;
    if (mine.asks && mine.interruption->asked_()) mine.interruption->request();
    return mine.interruption->requested_.load();
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
  static Slot& slot() {
    thread_local Slot mine;
    return mine;
  }

  const std::function<bool()> asked_;
  std::atomic<bool> requested_{false};
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
