// Copies entries from memory to free space in a tier that outlives the process (the disk), so that the next run
// finds them there.
//
// Copying begins when the samples of every loader are in one of the tiers; before that, the space on disk may
// be needed for samples that are in none. Then a thread of low priority copies the entries that the disk lacks.
// Several processes that share the tiers may copy at once: each entry is claimed, and thus
// written, by one of them. A process may end or be killed at any time: published entries are on disk, and the
// others are missing. Readers never wait for the copy.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "cache/tier.h"

namespace penstock {

// The entries that one loader wants to have cached. Only one thread at a time calls look().
class WantedEntries {
 public:
  virtual ~WantedEntries() = default;

  enum class State : std::uint8_t {
    kNotYet,   // more entries will be added
    kAllIn,    // no more entries will be added
    kGivenUp,  // the loader is closed, so nothing is to be waited for
  };
  using Has = std::function<bool(const EntryKey&)>;
  // Returns soon when a stop is requested.
  virtual State look(const Has& has, const std::stop_token& stop) = 0;
};

// From which tiers to which one entries are copied. The tiers are borrowed.
struct CopyRoute {
  std::vector<CacheTier*> all;   // an entry that is in one of them need not be made
  std::vector<CacheTier*> from;  // in memory, and gone with the processes that use it
  std::size_t to = 0;            // index in `all`
};
// Nothing, unless one of the tiers outlives the process and another one holds its entries in memory.
std::optional<CopyRoute> choose_copy(std::span<const CacheTierPtr> tiers);

// Thread-safe. Must not outlive the tiers. In a forked child it copies nothing.
class TierCopy {
 public:
  explicit TierCopy(CopyRoute route);
  // Waits only until the entry that is being written is complete.
  ~TierCopy();
  TierCopy(const TierCopy&) = delete;

  // Copying waits for these entries, too.
  void add_wanted(std::shared_ptr<WantedEntries> wanted);
  // Checks again whether copying can begin or has more to do, after an epoch ended or a loader was closed.
  void look_again();

  std::uint64_t copied() const;  // entries, by this process
  std::size_t target() const;    // index of the tier that they are copied to

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
  const int process_;
};

}  // namespace penstock
