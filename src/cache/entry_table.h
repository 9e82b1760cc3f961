// Which entries a tier has, in memory that processes share.
//
// Entries are added and never taken away, so readers need no lock: an entry is there when its state says
// so, and stays. Whoever adds one claims its place under a mutex, writes the bytes outside it, and then
// publishes. A process may be killed at any of these points: the mutex is robust, and a claim whose owner
// is gone is taken over, with its room, by the next who has the same entry.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

// `space`: of which data and which steps of a pipeline; `number`: the sample or chunk.
struct EntryKey {
  std::uint64_t space = 0, number = 0;
  bool operator==(const EntryKey&) const = default;
};

struct EntryPlace {
  std::uint64_t offset = 0, length = 0;
  std::uint32_t crc = 0;
};

class EntryTable {
 public:
  // Memory for so many entries.
  static std::uint64_t bytes_for(std::uint64_t entries);
  // Makes it empty. Only where nobody else has it.
  static Status format(MutableBytes memory, std::uint64_t capacity_bytes);
  // Whether format() made it, for the same capacity, by this version. Where nobody else has it, a mutex
  // that a dead machine left locked is made anew.
  static bool is_formatted(MutableBytes memory, std::uint64_t capacity_bytes);

  explicit EntryTable(MutableBytes memory);

  // Published entries only.
  std::optional<EntryPlace> find(const EntryKey& key) const;

  // To write `length` bytes at the offset and publish(). Nothing: it is there, another is at it, or there
  // is no room.
  struct Claim {
    std::uint64_t slot = 0, offset = 0;
  };
  // `back`: a range of the area is about to be used for the first time; false: it cannot be.
  using Back = std::function<bool(std::uint64_t offset, std::uint64_t bytes)>;
  std::optional<Claim> claim(const EntryKey& key, std::uint64_t length, const Back& back);
  void publish(const Claim& claim, std::uint32_t crc);
  // The bytes could not be written. Its room is kept for the next who has the entry.
  void give_up(const Claim& claim);
  // An entry whose bytes turned out to be damaged: as if it were not there, for good.
  void withdraw(const EntryKey& key);

  std::uint64_t entries() const;
  std::uint64_t used_bytes() const;
  std::uint64_t capacity_bytes() const;

 private:
  struct Header;
  struct Slot;
  std::optional<Claim> claim_locked(const EntryKey& key, std::uint64_t length, const Back& back);
  std::uint64_t first_slot(const EntryKey& key) const;

  Header& header_;
  std::span<Slot> slots_;
};

}  // namespace penstock
