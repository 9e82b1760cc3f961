#include "pack/zarr/run_tasks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

#include "base/first_error.h"
#include "base/guarded.h"
#include "penstock/interruption.h"

namespace penstock {
namespace {

constexpr auto kTaskCheckEvery = std::chrono::milliseconds(100);

class TaskRun {
 public:
  using Work = std::function<Status(unsigned, std::uint64_t)>;

  TaskRun(unsigned threads, std::uint64_t tasks, const Work& work) : tasks_(tasks), work_(work), running_(threads) {}

  void run_thread(unsigned thread) PENSTOCK_EXCLUDES(mutex_) {
    const Interruption::Scope scope(&stop_reading_);
    while (!stops_) {
      // A task that was claimed is run, also after a stop: another thread may be waiting for its turn behind it.
      const std::uint64_t task = next_++;
      if (task >= tasks_) break;
      Status done;
      try {
        done = work_(thread, task);
      } catch (const std::bad_alloc&) {  // thrown by the standard library; our own memory is reserved in the ledger
        done = fail(ErrorCode::kNoMemory, "the system has no memory left");
      }
      if (done) continue;
      error_.report(std::move(done).error());
      stops_ = true;
    }
    const MutexLock lock(mutex_);
    if (--running_ == 0) finished_.notify_all();
  }

  bool finishes_within(std::chrono::milliseconds patience) PENSTOCK_EXCLUDES(mutex_) {
    const auto deadline = ConditionVariable::Clock::now() + patience;
    const MutexLock lock(mutex_);
    while (running_ > 0 && finished_.wait_until(mutex_, deadline)) {
    }
    return running_ == 0;
  }

  void stop() {
    error_.report({ErrorCode::kStopped, "stopped before it was done", {}, false, nullptr});
    stops_ = true;
    stop_reading_.request();
  }

  Status status() { return error_.status(); }

 private:
  const std::uint64_t tasks_;
  const Work& work_;
  Interruption stop_reading_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> stops_{false};
  FirstError error_;
  Mutex mutex_;
  ConditionVariable finished_;
  unsigned running_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace

Status run_tasks(unsigned threads, std::uint64_t tasks,
                 const std::function<Status(unsigned thread, std::uint64_t task)>& work,
                 const std::function<bool()>& go_on) {
  if (tasks == 0) return {};
  threads = static_cast<unsigned>(std::clamp<std::uint64_t>(tasks, 1, std::max(threads, 1U)));
  TaskRun run(threads, tasks, work);
  {
    std::vector<std::jthread> crew;
    for (unsigned i = 0; i < threads; ++i) crew.emplace_back([&run, i] { run.run_thread(i); });
    while (!run.finishes_within(kTaskCheckEvery))
      if (Interruption::is_requested() || !go_on()) run.stop();
  }
  return run.status();
}

}  // namespace penstock
