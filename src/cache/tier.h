// One tier of the cache: memory, or a folder on disk. What it has, it keeps; what does not fit is refused.
//
// Entries are opaque here: an EntryHead and the bytes that follow. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "cache/shared/entry.h"
#include "penstock/cache.h"
#include "penstock/result.h"

namespace penstock {

// When this process last found that an entry is like its object: a moment, of which later ones are larger
// numbers; 0: never. Whoever replaces the entry undoes it.
class EntryMark {
 public:
  // `state`: another where the entry is replaced.
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

class CacheTier {
 public:
  virtual ~CacheTier() = default;

  // Gives memory for an entry that is not in memory, or not yet.
  using Allocate = std::function<Result<MutableBytes>(std::size_t)>;

  struct Found {
    ConstBytes bytes;                  // head and all
    std::shared_ptr<const void> held;  // what keeps them there; nothing: they stay as long as the tier
    EntryMark mark;
  };
  // Nothing: it is not there, or its bytes turned out to be damaged.
  virtual std::optional<Found> find(const EntryKey& key, const Allocate& allocate) = 0;
  virtual bool has(const EntryKey& key) const = 0;
  // The moment of the entry's mark; nothing where it is not there.
  virtual std::optional<std::uint32_t> marked_at(const EntryKey& key) const = 0;

  // It will be looked for soon.
  virtual void expect(const EntryKey&) const {}

  enum class Added : std::uint8_t {
    kYes,
    kFull,  // the next tier may have
    kTaken,   // it is there, or somebody is at it
  };
  // `fill` is called with `bytes` bytes of memory once there is room; where it fails, so does this, and the
  // room is kept for the next try. `moment`: of the mark that the entry then has.
  using Fill = std::function<Status(MutableBytes)>;
  virtual Result<Added> add(const EntryKey& key, std::uint64_t bytes, const Fill& fill, const Allocate& allocate,
                            std::uint32_t moment = 0) = 0;
  // Adds an entry, head and all, that another tier has.
  virtual Added copy(const EntryKey&, ConstBytes) { return Added::kFull; }
  // All entries, place by place: the key of the entry that is there, if any.
  virtual std::uint64_t slots() const { return 0; }
  virtual std::optional<EntryKey> key_at(std::uint64_t) const { return std::nullopt; }
  // The entry is of an object that has changed since.
  virtual void withdraw(const EntryKey& key) = 0;

  // Users of the tier agree on a number (not 0) for something: the first one's.
  virtual std::uint32_t agree(std::uint64_t, std::uint32_t mine) { return mine; }

  // What is cached here, in words, for people who look at it later.
  virtual void note(const std::string&) {}

  virtual std::uint64_t free_bytes() const = 0;
  virtual TierState state() const = 0;
};

using CacheTierPtr = std::unique_ptr<CacheTier>;

// What is said once, and by which of many threads does not matter.
using Warn = std::function<void(const std::string&)>;

}  // namespace penstock
