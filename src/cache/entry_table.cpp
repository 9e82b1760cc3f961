#include "cache/entry_table.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>

#include "base/random.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMagic = 0x31'65'6c'62'61'74'73'70;  // "pstable1"
constexpr std::uint64_t kMostProbes = 64;
constexpr std::uint64_t kSlab = 64 << 20;  // the area is backed in steps of this size
constexpr std::uint64_t kAlignment = 64;

enum State : std::uint32_t { kEmpty = 0, kClaimed, kAbandoned, kReady, kWithdrawn };

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

// When the process began, in ticks of the kernel: a number of its own together with the pid. 0: unknown.
std::uint64_t start_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  auto at = text.rfind(')');  // the name before it may hold anything
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  std::uint64_t ticks = 0;
  if (at != std::string::npos) std::from_chars(text.data() + at + 1, text.data() + text.size(), ticks);
  return ticks;
}

std::uint64_t own_start() {
  static const std::uint64_t start = start_of(getpid());
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
  std::uint64_t capacity_bytes;
  std::uint64_t slots;
  pthread_mutex_t mutex;
  std::atomic<std::uint64_t> used_bytes, backed_bytes, entries;
};

struct EntryTable::Slot {
  EntryKey key;
  std::uint64_t offset, length, owner_start;
  std::atomic<std::uint32_t> state;
  std::uint32_t crc;
  std::int32_t owner;
  std::uint32_t unused;
};

namespace {

void make_mutex(pthread_mutex_t& mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

class Locked {
 public:
  explicit Locked(pthread_mutex_t& mutex) : mutex_(mutex) {
    // Whoever died with it left everything valid: each step under it is complete by itself.
    if (pthread_mutex_lock(&mutex_) == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
  }
  Locked(const Locked&) = delete;
  ~Locked() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace

std::uint64_t EntryTable::bytes_for(std::uint64_t entries) {
  return round_up(sizeof(Header) + 2 * std::max<std::uint64_t>(entries, 1) * sizeof(Slot), 4096);
}

Status EntryTable::format(MutableBytes memory, std::uint64_t capacity_bytes) {
  std::memset(memory.data(), 0, memory.size());
  auto& header = *reinterpret_cast<Header*>(memory.data());
  header.capacity_bytes = capacity_bytes;
  header.slots = (memory.size() - sizeof(Header)) / sizeof(Slot);
  make_mutex(header.mutex);
  header.magic = kMagic;
  return {};
}

bool EntryTable::is_formatted(MutableBytes memory, std::uint64_t capacity_bytes) {
  auto& header = *reinterpret_cast<Header*>(memory.data());
  if (header.magic != kMagic || header.capacity_bytes != capacity_bytes ||
      header.slots != (memory.size() - sizeof(Header)) / sizeof(Slot))
    return false;
  make_mutex(header.mutex);
  return true;
}

EntryTable::EntryTable(MutableBytes memory)
    : header_(*reinterpret_cast<Header*>(memory.data())),
      slots_(reinterpret_cast<Slot*>(memory.data() + sizeof(Header)), header_.slots) {}

std::uint64_t EntryTable::first_slot(const EntryKey& key) const {
  return mix64(key.space ^ mix64(key.number)) % slots_.size();
}

std::optional<EntryPlace> EntryTable::find(const EntryKey& key) const {
  std::uint64_t at = first_slot(key);
  for (std::uint64_t probe = 0; probe < kMostProbes; ++probe, at = at + 1 < slots_.size() ? at + 1 : 0) {
    const Slot& slot = slots_[at];
    const std::uint32_t state = slot.state.load(std::memory_order_acquire);
    if (state == kEmpty) return std::nullopt;
    if (slot.key != key) continue;
    if (state != kReady) return std::nullopt;
    return EntryPlace{slot.offset, slot.length, slot.crc};
  }
  return std::nullopt;
}

std::optional<EntryTable::Claim> EntryTable::claim(const EntryKey& key, std::uint64_t length,
                                                   const Back& back) {
  const Locked lock(header_.mutex);
  return claim_locked(key, length, back);
}

std::optional<EntryTable::Claim> EntryTable::claim_locked(const EntryKey& key, std::uint64_t length,
                                                          const Back& back) {
  std::uint64_t at = first_slot(key);
  for (std::uint64_t probe = 0; probe < kMostProbes; ++probe, at = at + 1 < slots_.size() ? at + 1 : 0) {
    Slot& slot = slots_[at];
    const std::uint32_t state = slot.state.load(std::memory_order_acquire);
    if (state != kEmpty && slot.key != key) continue;
    if (state == kReady || state == kWithdrawn) return std::nullopt;
    if (state == kClaimed && !is_gone(slot.owner, slot.owner_start)) return std::nullopt;
    if (state == kEmpty) {
      const std::uint64_t begin = header_.used_bytes.load(), end = begin + round_up(length, kAlignment);
      if (end > header_.capacity_bytes) return std::nullopt;
      const std::uint64_t backed = header_.backed_bytes.load();
      if (end > backed) {
        const std::uint64_t to = std::min(round_up(end, kSlab), header_.capacity_bytes);
        if (!back(backed, to - backed)) return std::nullopt;
        header_.backed_bytes.store(to);
      }
      header_.used_bytes.store(end);
      slot.key = key;
      slot.offset = begin;
      slot.length = length;
    } else if (slot.length != length) {
      return std::nullopt;  // it would not fit its old place
    }
    slot.owner = getpid();
    slot.owner_start = own_start();
    slot.state.store(kClaimed, std::memory_order_release);
    return Claim{at, slot.offset};
  }
  return std::nullopt;
}

void EntryTable::publish(const Claim& claim, std::uint32_t crc) {
  Slot& slot = slots_[claim.slot];
  slot.crc = crc;
  header_.entries.fetch_add(1);
  slot.state.store(kReady, std::memory_order_release);
}

void EntryTable::give_up(const Claim& claim) {
  slots_[claim.slot].state.store(kAbandoned, std::memory_order_release);
}

void EntryTable::withdraw(const EntryKey& key) {
  std::uint64_t at = first_slot(key);
  for (std::uint64_t probe = 0; probe < kMostProbes; ++probe, at = at + 1 < slots_.size() ? at + 1 : 0) {
    Slot& slot = slots_[at];
    std::uint32_t state = slot.state.load(std::memory_order_acquire);
    if (state == kEmpty) return;
    if (slot.key != key) continue;
    if (state == kReady && slot.state.compare_exchange_strong(state, kWithdrawn)) header_.entries.fetch_sub(1);
    return;
  }
}

std::uint64_t EntryTable::entries() const { return header_.entries.load(); }
std::uint64_t EntryTable::used_bytes() const { return header_.used_bytes.load(); }
std::uint64_t EntryTable::capacity_bytes() const { return header_.capacity_bytes; }

}  // namespace penstock
