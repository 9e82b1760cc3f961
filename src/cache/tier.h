// One tier of the cache: memory, a folder on disk, or the memory of a device. A tier never evicts (except the LRU
// tier): it keeps the entries that it has and refuses new ones once it is full. Any number of tiers make a cache
// (tiered_cache.h), which asks their traits what each of them can do.
//
// An entry is an EntryHead followed by bytes; the tier does not interpret them. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "cache/shared/entry.h"
#include "penstock/array.h"
#include "penstock/cache.h"
#include "penstock/result.h"

namespace penstock {

// Remembers when this process last checked that an entry agrees with the object that it was made from. The
// time is a "moment": a counter that grows from check to check, with 0 for "never". When the entry is
// replaced, its state changes, and the mark reads as 0 again.
class EntryMark {
 public:
  // `state` identifies this version of the entry: it changes when the entry is replaced.
  EntryMark(std::atomic<std::uint64_t>& word, std::uint32_t state) : word_(&word), state_(state) {}

  std::uint32_t moment() const {
    const std::uint64_t word = word_->load(std::memory_order_relaxed);
    return static_cast<std::uint32_t>(word) == state_ ? static_cast<std::uint32_t>(word >> 32) : 0;
  }
  void set(std::uint32_t moment) const {
    word_->store(std::uint64_t{moment} << 32 | state_, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t>* word_;
  std::uint32_t state_;
};

enum class TierPlace : std::uint8_t { kMemory, kDisk, kDevice };

// What a tier is. A value that never changes.
struct TierTraits {
  std::string name;  // as stats() shows it: "ram", "disk"
  TierPlace place = TierPlace::kMemory;
  // The entries are there for the next run, too.
  bool outlives_process = false;
  // find() returns bytes that the processor can read. Where it does not, only code that runs on the device of the
  // entry can use it.
  bool gives_host_bytes = true;
};

// Where the code that wants an entry can read it.
enum class EntryReader : std::uint8_t {
  kHost,      // in host memory alone
  kAnywhere,  // on a device, too: it looks at Found::device
};

class CacheTier {
 public:
  virtual ~CacheTier() = default;

  virtual TierTraits traits() const = 0;

  // Returns memory for an entry that the caller needs in memory of its own: one that is read from disk, or
  // one that is made before the tier copies it.
  using Allocate = std::function<Result<MutableBytes>(std::size_t)>;

  struct Found {
    ConstBytes bytes;                  // the whole entry, its head included
    std::shared_ptr<const void> held;  // keeps `bytes` alive; nullptr: they live as long as the tier
    EntryMark mark;
    // Whose memory `bytes` lie in. On any device but the host, `bytes` is an address there, which only that device
    // can read: check is_on_host() before you do.
    Device device{};

    bool is_on_host() const { return device.kind == DeviceKind::kCpu; }
  };
  // Returns nothing if the tier does not have the entry, or if its bytes are damaged.
  virtual std::optional<Found> find(const EntryKey& key, const Allocate& allocate) = 0;
  virtual bool has(const EntryKey& key) const = 0;
  // Returns the moment of the entry's mark, or nothing if the tier does not have the entry.
  virtual std::optional<std::uint32_t> marked_at(const EntryKey& key) const = 0;

  // A hint that find() will be called for this key soon, so that the tier can begin to read.
  virtual void expect(const EntryKey&) const {}

  enum class Added : std::uint8_t {
    kYes,
    kFull,   // no space here; the next tier may have some
    kTaken,  // the entry exists already, or another thread or process is writing it
  };
  // Adds an entry of `bytes` bytes. If the tier has space, it calls `fill`, which writes the entry to host memory; if
  // `fill` fails, add() returns its error, and the space stays reserved for the next attempt. `moment` becomes the
  // moment of the mark.
  using Fill = std::function<Status(MutableBytes)>;
  virtual Result<Added> add(const EntryKey& key, std::uint64_t bytes, const Fill& fill, const Allocate& allocate,
                            std::uint32_t moment = 0) = 0;
  // Adds a whole entry, its head included, that another tier has in host memory.
  virtual Added copy(const EntryKey&, ConstBytes) { return Added::kFull; }
  // Enumerates the entries: each of the slots() slots holds at most one, whose key key_at(slot) returns.
  virtual std::uint64_t slots() const { return 0; }
  virtual std::optional<EntryKey> key_at(std::uint64_t) const { return std::nullopt; }
  // Removes an entry whose object has changed.
  virtual void withdraw(const EntryKey& key) = 0;

  // Lets all users of the tier agree on a number (not 0) for a topic: returns the number that the first
  // caller proposed.
  virtual std::uint32_t agree(std::uint64_t /*topic*/, std::uint32_t mine) { return mine; }

  // Records a description of the cached data, for people who look at the tier later.
  virtual void note(const std::string&) {}

  virtual std::uint64_t free_bytes() const = 0;
  virtual TierState state() const = 0;
};

using CacheTierPtr = std::unique_ptr<CacheTier>;

// Receives a warning. May be called from any thread; may be empty.
using Warn = std::function<void(const std::string&)>;

}  // namespace penstock
