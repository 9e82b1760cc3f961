// Copies the entries in memory to spare room on disk, so that the next run finds them there.
//
// Until every loader's samples are in one of the tiers, no entry is in two of them: the room on disk may
// still be wanted for samples that have no copy at all. From then on, a thread of low priority copies what
// only the memory holds. Processes that share the tiers may all do so: each entry is claimed, and so written,
// by one of them. A process may end or be killed at any time: an entry is on disk once it is published, and
// the rest is missing. Readers are never held up.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include "cache/tier.h"

namespace penstock {

// The entries that one loader keeps. look() is called by one thread at a time.
class WantedEntries {
 public:
  virtual ~WantedEntries() = default;

  enum class State : std::uint8_t {
    kNotYet,   // more are to be added
    kAllIn,    // all are in a tier, or those that are not will not come
    kGivenUp,  // the loader is closed, and there is nothing to wait for
  };
  using Has = std::function<bool(const EntryKey&)>;
  // Returns soon when a stop is requested.
  virtual State look(const Has& has, const std::stop_token& stop) = 0;
};

// Thread-safe. Must not outlive the tiers. In a forked child it copies nothing.
class TierCopy {
 public:
  TierCopy(CacheTier& memory, CacheTier& disk);
  // Waits for the entry that is being written, no longer.
  ~TierCopy();
  TierCopy(const TierCopy&) = delete;

  // Nothing is copied before these are in, too.
  void add_wanted(std::shared_ptr<WantedEntries> wanted);
  // There may be more to copy, or fewer entries to wait for.
  void look_again();

  std::uint64_t copied() const;  // entries, by this process

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
  const int process_;
};

}  // namespace penstock
