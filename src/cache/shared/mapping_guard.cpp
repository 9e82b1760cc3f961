#include "cache/shared/mapping_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "base/guarded.h"

namespace penstock {

struct MappingGuard::Range {
  std::atomic<std::uintptr_t> begin{0}, end{0};  // end == 0: unused
  std::atomic<bool> is_lost{false};
};

namespace {

using Range = MappingGuard::Range;

// A global, because a signal handler can reach nothing else. The handler uses only functions that are safe in
// a signal.
struct Guarded {
  std::array<Range, 256> ranges;
  std::atomic<std::uint64_t> lost{0};
  std::uintptr_t page_bytes = 4096;
  Mutex mutex;  // the handler does not take it
  std::size_t in_use PENSTOCK_GUARDED_BY(mutex) = 0;
  struct sigaction before{};  // changes only while our handler is not installed, so the handler needs no lock
};

Guarded guarded;

bool replace_by_zeros(Range& range, std::uintptr_t address) {
  const std::uintptr_t end = range.end.load(), page = address & ~(guarded.page_bytes - 1);
  // This comes first, so that no reader sees zeros in a mapping that is not marked.
  if (!range.is_lost.exchange(true)) guarded.lost.fetch_add(1);
  constexpr int kHow = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  return mmap(reinterpret_cast<void*>(page), end - page, PROT_READ | PROT_WRITE, kHow, -1, 0) != MAP_FAILED;
}

void handle_bus_error(int number, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Range& range : guarded.ranges)
    if (address >= range.begin.load() && address < range.end.load() && replace_by_zeros(range, address)) return;
  const struct sigaction& before = guarded.before;
  if ((before.sa_flags & SA_SIGINFO) != 0)
    before.sa_sigaction(number, info, context);
  else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    before.sa_handler(number);
  else
    signal(number, SIG_DFL);  // the access is repeated, and ends the process as it would have without us
}

void install() PENSTOCK_REQUIRES(guarded.mutex) {
  struct sigaction action{};
  action.sa_sigaction = handle_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGBUS, &action, &guarded.before);
}

// Restores the previous handler, unless other code has replaced ours meanwhile.
void uninstall() PENSTOCK_REQUIRES(guarded.mutex) {
  struct sigaction now{};
  if (sigaction(SIGBUS, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
      now.sa_sigaction == handle_bus_error)
    sigaction(SIGBUS, &guarded.before, nullptr);
}

}  // namespace

MappingGuard::MappingGuard(void* address, std::size_t bytes) {
  const MutexLock lock(guarded.mutex);
  for (Range& range : guarded.ranges) {
    if (range.end.load() != 0) continue;
    range.is_lost = false;
    range.begin = reinterpret_cast<std::uintptr_t>(address);
    range.end = reinterpret_cast<std::uintptr_t>(address) + bytes;
    range_ = &range;
    guarded.page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    if (guarded.in_use++ == 0) install();
    return;
  }
}

MappingGuard::~MappingGuard() {
  if (range_ == nullptr) return;
  const MutexLock lock(guarded.mutex);
  range_->end = 0;
  if (--guarded.in_use == 0) uninstall();
}

bool MappingGuard::is_lost() const { return range_ != nullptr && range_->is_lost.load(std::memory_order_relaxed); }

std::uint64_t lost_mappings() { return guarded.lost.load(std::memory_order_relaxed); }

}  // namespace penstock
