#include "cache/shared/entry_table.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "base/hash.h"
#include "base/random.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMagic = 0x34'65'6c'62'61'74'73'70;  // "pstable4"
constexpr std::uint64_t kMaxProbes = 64;
constexpr std::uint64_t kAlignment = 64;
// The longest wait for the mutex. Its holder does at most one allocation from the system.
constexpr auto kLockTimeout = std::chrono::milliseconds(500);

// The state of a slot: its kind in the low bits, and above them a count of changes, by which a reader can
// tell that the slot did not change while it was read.
enum Kind : std::uint32_t { kEmpty = 0, kClaimed, kAbandoned, kReady, kWithdrawn };
constexpr std::uint32_t kKindBits = 3;

Kind kind_of(std::uint32_t state) { return static_cast<Kind>(state & ((1 << kKindBits) - 1)); }
std::uint32_t next_state(std::uint32_t state, Kind kind) {
  return ((state >> kKindBits) + 1) << kKindBits | kind;
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

// The start time of a process in ticks of the kernel. Together with the pid it identifies the process. 0:
// unknown.
std::uint64_t start_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  auto at = text.rfind(')');  // the process name before it may contain any character
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  std::uint64_t ticks = 0;
  if (at != std::string::npos) std::from_chars(text.data() + at + 1, text.data() + text.size(), ticks);
  return ticks;
}

// The start time of this process; a forked child has its own.
std::uint64_t own_start() {
  thread_local pid_t process = 0;
  thread_local std::uint64_t start = 0;
  if (process != getpid()) {
    process = getpid();
    start = start_of(process);
  }
  return start;
}

bool is_gone(pid_t pid, std::uint64_t start) {
  if (pid == getpid()) return start != own_start();
  if (kill(pid, 0) != 0 && errno == ESRCH) return true;
  const std::uint64_t now = start_of(pid);
  return now != 0 && now != start;
}

}  // namespace

struct EntryTable::Header {
  std::uint64_t magic;
  std::uint64_t slots;
  // A mutex has 40 bytes on x86-64 and 48 on ARM. The fixed size gives all fields after it the same offset on
  // both, so that machines of both kinds can use one folder in turn.
  union {
    RobustMutex mutex;
    std::byte mutex_space[64];
  };
  std::atomic<std::uint64_t> machine, capacity_bytes, used_bytes, backed_bytes, entries;
  Range spares[16];
  std::atomic<std::uint64_t> has_spares;  // 0: `spares` need not be searched
  Agreed agreed[16];
};

// A slot has 64 bytes: one line of the processor's cache.
struct EntryTable::Slot {
  EntryKey key;
  std::atomic<std::uint64_t> offset, length;
  std::uint64_t reserved_bytes, owner_start;
  std::atomic<std::uint32_t> state, crc;
  std::int32_t owner;
  std::uint32_t unused;
};

// A process that died with the mutex left the table valid, because each store under the mutex does so.
bool EntryTable::lock() {
  const bool may_wait = !is_held_elsewhere_.load(std::memory_order_relaxed);
  const bool is_locked = mutex_.try_lock() || (may_wait && mutex_.try_lock_for(kLockTimeout));
  is_held_elsewhere_.store(!is_locked, std::memory_order_relaxed);
  if (!is_locked) lock_timeouts_.fetch_add(1, std::memory_order_relaxed);
  return is_locked;
}

std::uint64_t this_machine() {
  static const std::uint64_t machine = [] {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string text;
    std::getline(file, text);
    std::error_code ignored;
    const auto processes = std::filesystem::read_symlink("/proc/self/ns/pid", ignored);
    return hash_text(processes.string(), hash_text(text, 1));
  }();
  return machine;
}

std::uint64_t EntryTable::bytes_for(std::uint64_t entries) {
  return round_up(sizeof(Header) + 2 * std::max<std::uint64_t>(entries, 1) * sizeof(Slot), 4096);
}

void EntryTable::format(MutableBytes memory, std::uint64_t capacity_bytes) {
  static_assert(sizeof(Slot) == 64 && sizeof(Header) == 640 && sizeof(Header::mutex) <= 64);
  auto& header = *reinterpret_cast<Header*>(memory.data());
  header.capacity_bytes = capacity_bytes;
  header.slots = (memory.size() - sizeof(Header)) / sizeof(Slot);
  make_usable(memory);
  header.magic = kMagic;
}

bool EntryTable::is_formatted(ConstBytes memory) {
  if (memory.size() < bytes_for(1)) return false;
  const auto& header = *reinterpret_cast<const Header*>(memory.data());
  return header.magic == kMagic && header.slots == (memory.size() - sizeof(Header)) / sizeof(Slot);
}

void EntryTable::make_usable(MutableBytes memory) {
  auto& header = *reinterpret_cast<Header*>(memory.data());
  header.mutex.init();
  // After a crash of the machine, spare ranges may have been given out already.
  if (header.machine != this_machine()) std::ranges::fill(header.spares, Range{});
  if (header.machine != 0 && header.machine != this_machine()) EntryTable(memory, {}).recount();
  header.machine = this_machine();
}

void EntryTable::recount() {
  std::uint64_t used = header_.used_bytes, ready = 0;
  for (const Slot& slot : slots_) {
    const Kind kind = kind_of(slot.state);
    ready += kind == kReady ? 1 : 0;
    if (kind != kEmpty && slot.reserved_bytes <= header_.capacity_bytes &&
        slot.offset <= header_.capacity_bytes - slot.reserved_bytes)
      used = std::max(used, slot.offset + slot.reserved_bytes);
  }
  header_.used_bytes = used;
  header_.entries = ready;
}

EntryTable::EntryTable(MutableBytes memory, const Options& options)
    : header_(*reinterpret_cast<Header*>(memory.data())),
      slots_(reinterpret_cast<Slot*>(memory.data() + sizeof(Header)), header_.slots),
      mutex_(header_.mutex),
      spares_(header_.spares),
      agreed_(header_.agreed),
      options_(options) {}

EntryTable::Slot* EntryTable::slot_of(const EntryKey& key) const {
  std::uint64_t at = mix64(key.high ^ mix64(key.low)) % slots_.size();
  for (std::uint64_t probe = 0; probe < kMaxProbes; ++probe, at = at + 1 < slots_.size() ? at + 1 : 0) {
    Slot& slot = slots_[at];
    if (kind_of(slot.state.load(std::memory_order_acquire)) == kEmpty || slot.key == key) return &slot;
  }
  return nullptr;
}

std::optional<EntryLocation> EntryTable::find(const EntryKey& key) const {
  const Slot* slot = slot_of(key);
  if (slot == nullptr) return std::nullopt;
  const std::uint32_t state = slot->state.load(std::memory_order_acquire);
  // The slot may have been empty when slot_of() looked, and may hold another key now.
  if (kind_of(state) != kReady || slot->key != key) return std::nullopt;
  const EntryLocation location{
      static_cast<std::uint64_t>(slot - slots_.data()), slot->offset.load(std::memory_order_relaxed),
      slot->length.load(std::memory_order_relaxed), slot->crc.load(std::memory_order_relaxed), state};
  std::atomic_thread_fence(std::memory_order_acquire);
  if (slot->state.load(std::memory_order_relaxed) != state) return std::nullopt;
  // The file may be damaged: a location outside the area is not an entry.
  if (location.length > header_.capacity_bytes || location.offset > header_.capacity_bytes - location.length)
    return std::nullopt;
  return location;
}

std::expected<EntryTable::Claim, EntryTable::Refusal> EntryTable::claim(const EntryKey& key,
                                                                        std::uint64_t length,
                                                                        const Back& back) {
  if (length > header_.capacity_bytes) return std::unexpected(Refusal::kFull);
  // A full tier is asked for space again and again, so it refuses without the lock.
  const Slot* slot = slot_of(key);
  if (slot == nullptr) return std::unexpected(Refusal::kFull);
  const bool is_new = kind_of(slot->state.load(std::memory_order_acquire)) == kEmpty;
  if (is_new && header_.has_spares == 0 &&
      header_.used_bytes.load() + round_up(length, kAlignment) > header_.capacity_bytes)
    return std::unexpected(Refusal::kFull);
  if (!lock()) return std::unexpected(Refusal::kFull);
  const RobustMutexHold hold(mutex_);
  return claim_locked(key, length, back);
}

std::expected<EntryTable::Claim, EntryTable::Refusal> EntryTable::claim_locked(const EntryKey& key,
                                                                               std::uint64_t length,
                                                                               const Back& back) {
  Slot* slot = slot_of(key);
  if (slot == nullptr) return std::unexpected(Refusal::kFull);
  const std::uint32_t state = slot->state.load(std::memory_order_acquire);
  const Kind kind = kind_of(state);
  if (kind == kReady || (kind == kClaimed && !is_gone(slot->owner, slot->owner_start)))
    return std::unexpected(Refusal::kTaken);
  const bool may_reuse = kind == kClaimed || kind == kAbandoned || (kind == kWithdrawn && options_.reuses_space);
  if (!may_reuse || slot->reserved_bytes < length) {
    const auto range = allocate_locked(length, back);
    if (!range) return std::unexpected(Refusal::kFull);
    if (kind == kEmpty) slot->key = key;  // readers compare it from now on
    slot->offset.store(range->offset, std::memory_order_relaxed);
    slot->reserved_bytes = range->bytes;
  }
  slot->length.store(length, std::memory_order_relaxed);
  slot->owner = getpid();
  slot->owner_start = own_start();
  slot->state.store(next_state(state, kClaimed), std::memory_order_release);
  return Claim{static_cast<std::uint64_t>(slot - slots_.data()),
               slot->offset.load(std::memory_order_relaxed)};
}

std::optional<EntryTable::Range> EntryTable::allocate_locked(std::uint64_t length, const Back& back) {
  const std::uint64_t capacity = header_.capacity_bytes;
  header_.has_spares = 0;
  for (Range& listed : spares_) {
    const Range spare = listed;
    if (spare.bytes == 0) continue;
    header_.has_spares = 1;
    if (spare.bytes < length || spare.bytes > capacity || spare.offset > capacity - spare.bytes) continue;
    listed.bytes = 0;  // a process that dies after this line loses the range, but no range is given out twice
    return spare;
  }
  const std::uint64_t begin = header_.used_bytes.load(), end = begin + round_up(length, kAlignment);
  if (end > capacity) return std::nullopt;
  const std::uint64_t backed = header_.backed_bytes.load();
  if (end > backed) {
    const std::uint64_t to = std::min(round_up(end, options_.slab_bytes), capacity);
    if (!back(backed, to - backed)) return std::nullopt;
    header_.backed_bytes.store(to);
  }
  header_.used_bytes.store(end);
  return Range{begin, end - begin};
}

std::uint32_t EntryTable::publish(const Claim& claim, std::uint32_t crc) {
  Slot& slot = slots_[claim.slot];
  slot.crc.store(crc, std::memory_order_relaxed);
  header_.entries.fetch_add(1);
  const std::uint32_t state = next_state(slot.state.load(std::memory_order_relaxed), kReady);
  slot.state.store(state, std::memory_order_release);
  return state;
}

void EntryTable::give_up(const Claim& claim) {
  Slot& slot = slots_[claim.slot];
  // Without the mutex, the space stays with the slot, which belongs to this claim until its state changes.
  if (!lock()) return abandon(slot);
  const RobustMutexHold hold(mutex_);
  keep_spare_locked(slot);
  abandon(slot);
}

void EntryTable::keep_spare_locked(Slot& slot) {
  const auto spare = std::ranges::find(spares_, 0u, &Range::bytes);
  if (spare == spares_.end()) return;
  const std::uint64_t bytes = std::exchange(slot.reserved_bytes, 0);  // first, so that two owners never share it
  spare->offset = slot.offset.load(std::memory_order_relaxed);
  spare->bytes = bytes;
  header_.has_spares = 1;
}

void EntryTable::abandon(Slot& slot) {
  slot.state.store(next_state(slot.state.load(std::memory_order_relaxed), kAbandoned),
                   std::memory_order_release);
}

std::uint32_t EntryTable::agree(std::uint64_t on, std::uint32_t mine) {
  if (!lock()) return mine;
  const RobustMutexHold hold(mutex_);
  for (Agreed& agreed : agreed_) {
    if (agreed.number == 0) agreed = {on, mine};
    if (agreed.on == on) return static_cast<std::uint32_t>(agreed.number);
  }
  return mine;
}

bool EntryTable::withdraw(const EntryKey& key) {
  Slot* slot = slot_of(key);
  if (slot == nullptr) return false;
  std::uint32_t state = slot->state.load(std::memory_order_acquire);
  if (kind_of(state) != kReady || slot->key != key ||
      !slot->state.compare_exchange_strong(state, next_state(state, kWithdrawn)))
    return false;
  header_.entries.fetch_sub(1);
  return true;
}

std::optional<EntryKey> EntryTable::key_at(std::uint64_t slot) const {
  // The key of a slot never changes once it is set.
  if (kind_of(slots_[slot].state.load(std::memory_order_acquire)) != kReady) return std::nullopt;
  return slots_[slot].key;
}

std::uint64_t EntryTable::entries() const { return header_.entries.load(); }
std::uint64_t EntryTable::used_bytes() const { return header_.used_bytes.load(); }
std::uint64_t EntryTable::capacity_bytes() const { return header_.capacity_bytes.load(); }
void EntryTable::set_capacity(std::uint64_t bytes) { header_.capacity_bytes.store(bytes); }
std::uint64_t EntryTable::machine() const { return header_.machine.load(); }

}  // namespace penstock
