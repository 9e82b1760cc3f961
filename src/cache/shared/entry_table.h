// The index of a tier: a hash table from keys to the locations of entries, in memory that processes share.
//
// Entries never move, so that readers need no lock. To add an entry, a thread claims a slot and space under a
// mutex, writes the bytes without the mutex, and then publishes the entry. A process may be killed at any of
// these points: the mutex is robust, and if the owner of a claim is dead, the next process that adds the same
// entry takes over the claim and its space. A process may also be stopped at any of these points: the others
// wait for the mutex only for a short time, and refuse entries until they get it.
//
// Thread-safe, also between processes, with these exceptions: format(), make_usable() and set_capacity() may be called
// only while no other thread or process uses the table. The table borrows its memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "cache/shared/entry.h"
#include "cache/shared/robust_mutex.h"

namespace penstock {

// The location of a published entry: `length` bytes from `offset` of the area beside the table.
struct EntryLocation {
  std::uint64_t slot = 0, offset = 0, length = 0;
  std::uint32_t crc = 0;
  std::uint32_t state = 0;  // changes when the entry is replaced
};

class EntryTable {
 public:
  // The size of a table for this many entries.
  static std::uint64_t bytes_for(std::uint64_t entries);
  // Makes an empty table of memory that is all zero and that no other process uses.
  static void format(MutableBytes memory, std::uint64_t capacity_bytes);
  // Returns whether the memory holds a table with the layout of this build.
  static bool is_formatted(ConstBytes memory);
  // Repairs a table that no other process uses: after a crash of the machine, the mutex may still be locked,
  // and the counts may be out of date.
  static void make_usable(MutableBytes memory);

  struct Options {
    // If true, the space of a withdrawn entry is used again at once, so readers must be able to notice that
    // an entry was overwritten while they read it. If false, that space is lost.
    bool reuses_space = false;
    std::uint64_t slab_bytes = 16 << 20;  // the area is allocated from the system in steps of this size
  };
  // `memory` must be formatted.
  EntryTable(MutableBytes memory, const Options& options);

  // Finds published entries only.
  std::optional<EntryLocation> find(const EntryKey& key) const;

  // The right to write `length` bytes at `offset` and then to publish() the entry.
  struct Claim {
    std::uint64_t slot = 0, offset = 0;
  };
  enum class Refusal : std::uint8_t {
    kTaken,  // the entry exists already, or another thread or process is writing it
    kFull,   // no space, no slot, or no lock in time
  };
  // Called before a range of the area is used for the first time. Returns false if the system has no memory
  // for it.
  using Back = std::function<bool(std::uint64_t offset, std::uint64_t bytes)>;
  std::expected<Claim, Refusal> claim(const EntryKey& key, std::uint64_t length, const Back& back)
      PENSTOCK_EXCLUDES(mutex_);
  // Makes the entry visible to readers and returns its state.
  std::uint32_t publish(const Claim& claim, std::uint32_t crc);
  // Ends a claim whose bytes could not be written. Its space goes to the next claim that it is large enough
  // for.
  void give_up(const Claim& claim) PENSTOCK_EXCLUDES(mutex_);
  // Removes an entry that is damaged, or whose object has changed. Returns false if it was not there (any
  // more).
  bool withdraw(const EntryKey& key);

  // Lets all users of the table agree on a number (not 0) for a topic: returns the number that the first
  // caller proposed. If the table cannot record it, it returns `mine`.
  std::uint32_t agree(std::uint64_t on, std::uint32_t mine) PENSTOCK_EXCLUDES(mutex_);

  std::uint64_t slots() const { return slots_.size(); }
  // Returns the key of the entry that is published in this slot, if any.
  std::optional<EntryKey> key_at(std::uint64_t slot) const;
  std::uint64_t entries() const;
  std::uint64_t used_bytes() const;
  std::uint64_t capacity_bytes() const;
  // May be called only while no other thread or process uses the table.
  void set_capacity(std::uint64_t bytes);
  // The machine whose processes use the table. Whether processes of another machine are alive cannot be found
  // out.
  std::uint64_t machine() const;
  // How often this process did not get the mutex in time.
  std::uint64_t lock_timeouts() const { return lock_timeouts_.load(std::memory_order_relaxed); }

 private:
  struct Header;
  struct Slot;
  // A free range of the area.
  struct Range {
    std::uint64_t offset, bytes;
  };
  // What the users of the table have agreed on for a topic.
  struct Agreed {
    std::uint64_t on, number;
  };
  // False if the mutex was not free in time: the process that holds it may be stopped, by a debugger for instance.
  bool lock() PENSTOCK_TRY_ACQUIRE(true, mutex_);
  Slot* slot_of(const EntryKey& key) const;  // the slot with this key, or the empty slot for it; nullptr: none
  std::expected<Claim, Refusal> claim_locked(const EntryKey& key, std::uint64_t length, const Back& back)
      PENSTOCK_REQUIRES(mutex_);
  std::optional<Range> allocate_locked(std::uint64_t length, const Back& back) PENSTOCK_REQUIRES(mutex_);
  void keep_spare_locked(Slot& slot) PENSTOCK_REQUIRES(mutex_);
  static void abandon(Slot& slot);
  // Counts anew after a crash of the machine: the counts on disk may be older than the slots, and no space
  // must be given out twice.
  void recount();

  Header& header_;
  const std::span<Slot> slots_;
  RobustMutex& mutex_;
  // Free ranges that no reader ever saw, because their entries could not be made. bytes == 0: unused.
  const std::span<Range> spares_ PENSTOCK_GUARDED_BY(mutex_);
  const std::span<Agreed> agreed_ PENSTOCK_GUARDED_BY(mutex_);
  const Options options_;
  // True after a timeout: then the mutex is only tried, not waited for, until it was free once.
  std::atomic<bool> is_held_elsewhere_ = false;
  std::atomic<std::uint64_t> lock_timeouts_ = 0;
};

// Identifies the running system and the process namespace: the number changes with every boot, and differs
// between containers, because process numbers of two containers cannot be compared.
std::uint64_t this_machine();

}  // namespace penstock
