#include "cache/tier_copy.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "base/guarded.h"

namespace penstock {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(200);

// Lets this thread run only when the processor and the disk are idle. If the system refuses, it runs as all
// others do.
void become_background() {
  constexpr int kThisThread = 0, kProcess = 1, kIdleClass = 3 << 13;  // libc has no names for them
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19);
  syscall(SYS_ioprio_set, kProcess, kThisThread, kIdleClass);
}

}  // namespace

struct TierCopy::Shared {
  explicit Shared(CopyRoute route_) : route(std::move(route_)) {}

  void run(const std::stop_token& stop) PENSTOCK_EXCLUDES(mutex);
  using Wanted = std::vector<std::shared_ptr<WantedEntries>>;
  WantedEntries::State look_at(const Wanted& all, const std::stop_token& stop) PENSTOCK_EXCLUDES(mutex);
  void copy_entries(CacheTier& memory, std::uint64_t request, const std::stop_token& stop);
  void ask() PENSTOCK_REQUIRES(mutex) {
    ++requests;
    changed.notify_all();
  }

  const CopyRoute route;
  std::atomic<std::uint64_t> copied{0};
  Mutex mutex;
  ConditionVariable changed;
  std::atomic<std::uint64_t> requests{0};  // calls of ask(); incremented under the mutex
  std::uint64_t handled PENSTOCK_GUARDED_BY(mutex) = 0;  // the last request that was carried out
  Wanted wanted PENSTOCK_GUARDED_BY(mutex);
  std::jthread thread;  // last member, because it uses those above
};

// Returns kAllIn if the entries of at least one loader are in, and no loader will add more.
WantedEntries::State TierCopy::Shared::look_at(const Wanted& all, const std::stop_token& stop) {
  const auto has = [this](const EntryKey& key) {
    return std::ranges::any_of(route.all, [&](const CacheTier* tier) { return tier->has(key); });
  };
  auto result = WantedEntries::State::kGivenUp;
  for (const auto& entries : all) {
    const WantedEntries::State state = entries->look(has, stop);
    if (state == WantedEntries::State::kNotYet) return state;
    if (state == WantedEntries::State::kAllIn) result = state;
    if (state != WantedEntries::State::kGivenUp) continue;
    const MutexLock lock(mutex);
    std::erase(wanted, entries);
  }
  return result;
}

// Copies until all entries are on disk, the disk is full, or there is a new request: a new loader may need
// the space.
void TierCopy::Shared::copy_entries(CacheTier& memory, std::uint64_t request, const std::stop_token& stop) {
  CacheTier& disk = *route.all[route.to];
  const CacheTier::Allocate none = [](std::size_t) -> Result<MutableBytes> {
    return fail(ErrorCode::kNoMemory, "an entry in memory needs no memory of the caller");
  };
  for (std::uint64_t slot = 0; slot < memory.slots(); ++slot) {
    if (stop.stop_requested() || requests != request || disk.free_bytes() == 0) return;
    const auto key = memory.key_at(slot);
    if (!key || disk.has(*key)) continue;
    const auto entry = memory.find(*key, none);
    if (!entry || !entry->is_on_host() || entry->bytes.size() < sizeof(EntryHead)) continue;
    EntryHead head;
    std::memcpy(&head, entry->bytes.data(), sizeof head);
    if (head.stays_in_memory != 0) continue;
    if (disk.copy(*key, entry->bytes) == CacheTier::Added::kYes) ++copied;
  }
}

void TierCopy::Shared::run(const std::stop_token& stop) {
  become_background();
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(mutex);
    changed.notify_all();
  });
  MutexLock lock(mutex);
  while (true) {
    while (!stop.stop_requested() && requests == handled) changed.wait(mutex);
    if (stop.stop_requested()) return;
    const std::uint64_t request = requests;
    const Wanted all = wanted;
    lock.unlock();
    const WantedEntries::State state = look_at(all, stop);
    if (state == WantedEntries::State::kAllIn)
      for (CacheTier* const memory : route.from) copy_entries(*memory, request, stop);
    lock.lock();
    if (state != WantedEntries::State::kNotYet) {
      handled = request;
      continue;
    }
    const auto deadline = ConditionVariable::Clock::now() + kBetweenLooks;
    while (!stop.stop_requested() && requests == request && changed.wait_until(mutex, deadline)) {
    }
  }
}

std::optional<CopyRoute> choose_copy(std::span<const CacheTierPtr> tiers) {
  CopyRoute route;
  std::optional<std::size_t> to;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const TierTraits traits = tiers[i]->traits();
    route.all.push_back(tiers[i].get());
    if (traits.outlives_process && !to)
      to = i;
    else if (!traits.outlives_process && traits.place == TierPlace::kMemory)
      route.from.push_back(tiers[i].get());
  }
  if (!to || route.from.empty()) return std::nullopt;
  route.to = *to;
  return route;
}

TierCopy::TierCopy(CopyRoute route)
    : shared_(std::make_unique<Shared>(std::move(route))),
      process_(getpid()) {
  shared_->thread =
      std::jthread([shared = shared_.get()](const std::stop_token& stop) { shared->run(stop); });
}

TierCopy::~TierCopy() {
  // In a forked child, the mutex may be locked by a thread that does not exist there, so the object is
  // leaked.
  if (process_ != getpid()) static_cast<void>(shared_.release());
}

void TierCopy::add_wanted(std::shared_ptr<WantedEntries> wanted) {
  if (process_ != getpid()) return;
  const MutexLock lock(shared_->mutex);
  shared_->wanted.push_back(std::move(wanted));
  shared_->ask();
}

void TierCopy::look_again() {
  if (process_ != getpid()) return;
  const MutexLock lock(shared_->mutex);
  shared_->ask();
}

std::uint64_t TierCopy::copied() const { return shared_->copied; }

std::size_t TierCopy::target() const { return shared_->route.to; }

}  // namespace penstock
