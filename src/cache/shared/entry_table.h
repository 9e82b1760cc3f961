// Which entries a tier has, in memory that processes share.
//
// Entries are added and, while somebody may read them, not moved: readers need no lock. Whoever adds one
// claims its place under a mutex, writes the bytes outside it, and then publishes. A process may be killed
// at any of these points: the mutex is robust, and a claim whose owner is gone is taken over, with its
// room, by the next who has the same entry. A process may also be stopped at any of them: nobody waits long
// for the mutex, and what cannot be added meanwhile is refused.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "cache/shared/entry.h"

namespace penstock {

struct EntryLocation {
  std::uint64_t slot = 0, offset = 0, length = 0;
  std::uint32_t crc = 0;
  std::uint32_t state = 0;  // another where the entry is replaced
};

class EntryTable {
 public:
  // Memory for so many entries.
  static std::uint64_t bytes_for(std::uint64_t entries);
  // Of memory that is all zero, and that nobody else has: an empty table.
  static void format(MutableBytes memory, std::uint64_t capacity_bytes);
  // Whether format() made it, by a build that lays it out alike.
  static bool is_formatted(ConstBytes memory);
  // Where nobody else has it: a mutex that a dead machine left locked is made anew, and so are its counts.
  static void make_usable(MutableBytes memory);

  struct Options {
    // A withdrawn entry's room is written again at once, so readers must be able to tell. Otherwise it is
    // lost.
    bool reuses_space = false;
    std::uint64_t slab_bytes = 16 << 20;  // the area is backed in steps of this size
  };
  // Of memory that is_formatted().
  EntryTable(MutableBytes memory, const Options& options);

  // Published entries only.
  std::optional<EntryLocation> find(const EntryKey& key) const;

  // To write `length` bytes at the offset and publish().
  struct Claim {
    std::uint64_t slot = 0, offset = 0;
  };
  enum class Refusal : std::uint8_t {
    kTaken,  // it is there, or somebody is at it
    kFull,
  };
  // `back`: a range of the area is about to be used for the first time; false: it cannot be.
  using Back = std::function<bool(std::uint64_t offset, std::uint64_t bytes)>;
  std::expected<Claim, Refusal> claim(const EntryKey& key, std::uint64_t length, const Back& back);
  // The state that the entry now has.
  std::uint32_t publish(const Claim& claim, std::uint32_t crc);
  // The bytes could not be written. Its room goes to whoever comes next.
  void give_up(const Claim& claim);
  // An entry that is damaged, or of something that has changed: as if it were not there. False: another
  // was quicker.
  bool withdraw(const EntryKey& key);

  // Users of the table agree on a number (not 0) for something: the first one's. Where there is no place to
  // note it, one's own.
  std::uint32_t agree(std::uint64_t on, std::uint32_t mine);

  std::uint64_t slots() const { return slots_.size(); }
  // Of the entry that is published there.
  std::optional<EntryKey> key_at(std::uint64_t slot) const;
  std::uint64_t entries() const;
  std::uint64_t used_bytes() const;
  std::uint64_t capacity_bytes() const;
  // Only where nobody else has it.
  void set_capacity(std::uint64_t bytes);
  // The machine that has it mapped; another's processes cannot be asked whether they live.
  std::uint64_t machine() const;
  // How often this process did without the mutex because another kept it.
  std::uint64_t lock_timeouts() const { return lock_timeouts_.load(std::memory_order_relaxed); }

 private:
  struct Header;
  struct Slot;
  class Locked;
  bool lock();
  Slot* slot_of(const EntryKey& key) const;  // the one that has it, or the empty one it belongs in
  std::expected<Claim, Refusal> claim_locked(const EntryKey& key, std::uint64_t length, const Back& back);
  struct Range {
    std::uint64_t offset, bytes;
  };
  std::optional<Range> allocate_locked(std::uint64_t length, const Back& back);
  // A machine that stopped may have kept older counts than slots: no room must be given twice.
  void recount();

  Header& header_;
  const std::span<Slot> slots_;
  const Options options_;
  std::atomic<bool> is_held_elsewhere_ = false;  // the mutex: it is not waited for again until it was free
  std::atomic<std::uint64_t> lock_timeouts_ = 0;
};

// A number of the running system's own, another after every start; and of the processes that can see each
// other: those of two containers have the same numbers.
std::uint64_t this_machine();

}  // namespace penstock
