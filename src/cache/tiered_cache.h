// The cache behind penstock/cache.h: a list of any number of tiers. An entry goes to the first tier that has space for
// it. The traits of a tier (cache/tier.h) say what it can do; its position decides only when it is searched. Once all
// samples are in one of the tiers, entries in memory are copied to the tier that outlives the process, for the next run
// (cache/tier_copy.h).
//
// prepare(), take_charge(), give_back_charge(), tiers() and options() may be called from any thread at any time. All
// other functions are thread-safe too, but only after a call of prepare() has returned, because they use the list of
// tiers without a lock.
#pragma once

#include "base/guarded.h"
#include "cache/tier.h"
#include "cache/tier_copy.h"

namespace penstock {

class TieredCache final : public Cache {
 public:
  // prepare() makes the tiers that the options describe.
  explicit TieredCache(CacheOptions options) : options_(std::move(options)) {}
  // With these tiers, which are searched in their order. prepare() makes no others.
  TieredCache(CacheOptions options, std::vector<CacheTierPtr> tiers);

  // Describes how a loader uses the cache. The tiers are made for the first loader; later ones share them.
  struct Use {
    std::uint64_t identity = 0;  // hash of the data and the transforms; processes with the same one share the memory
    std::uint64_t ram_entries = 0, disk_entries = 0;  // expected number per tier
    std::uint64_t entry_bytes = 0;                    // usual size of an entry
    std::uint32_t processes = 1;
  };
  Status prepare(const Use& use) PENSTOCK_EXCLUDES(mutex_);
  // Returns the cache memory that counts against the budget of a loader while it is open. The first open
  // loader of a process is charged with the process's part of the tier in memory, the others with nothing.
  std::uint64_t take_charge(std::uint32_t processes) PENSTOCK_EXCLUDES(mutex_);
  void give_back_charge() PENSTOCK_EXCLUDES(mutex_);

  struct Hit {
    std::size_t tier = 0;
    CacheTier::Found found;
  };
  // Searches the tiers whose entries the reader can use. A reader that can use all must check where an entry is.
  std::optional<Hit> find(const EntryKey& key, const CacheTier::Allocate& allocate,
                          EntryReader reader = EntryReader::kHost) const;
  bool has(const EntryKey& key, EntryReader reader = EntryReader::kHost) const;
  // Announces that find() will soon be called for this key.
  void expect(const EntryKey& key) const;
  // Returns the moment of the mark in the first tier that has the entry for the reader, or nothing if none has.
  std::optional<std::uint32_t> marked_at(const EntryKey& key, EntryReader reader = EntryReader::kHost) const;
  // How an entry is cached: the moment of its mark, whether it must not outlive the process, and who will read it.
  struct Keeping {
    std::uint32_t moment = 0;
    bool stays_in_memory = false;
    EntryReader reader = EntryReader::kHost;
  };
  // Returns whether the entry was added. Fails only if `fill` does.
  Result<bool> add(const EntryKey& key, std::uint64_t bytes, const CacheTier::Fill& fill,
                   const CacheTier::Allocate& allocate, const Keeping& keeping) const;
  void withdraw(const EntryKey& key) const;
  // Free space in this process's part of all tiers whose entries the reader can use.
  std::uint64_t free_bytes(EntryReader reader = EntryReader::kHost) const;
  // Lets all users of the tiers agree on a number (not 0) for a topic. A number that the disk has recorded
  // takes precedence over one in memory.
  std::uint32_t agree(std::uint64_t on, std::uint32_t mine) const;
  // Called when a loader begins to cache these entries.
  void add_wanted(std::shared_ptr<WantedEntries> wanted) const;
  // Called when an epoch of a loader has ended, or when a loader was closed.
  void look_again() const;
  // Warns with the first message that it gets and ignores the others.
  void warn_of_no_version(const std::string& message) const;
  // Records a description of the cached data, for people who look at a folder later.
  void note(const std::string& words) const;

  const CacheOptions& options() const override { return options_; }
  std::vector<TierState> tiers() const override PENSTOCK_EXCLUDES(mutex_);

 private:
  struct Tier {
    TierTraits traits;
    CacheTierPtr tier;
    bool serves(EntryReader reader) const { return traits.gives_host_bytes || reader == EntryReader::kAnywhere; }
  };
  struct Tiers {
    std::uint32_t processes = 1;
    std::vector<Tier> list;
    // nullptr if no tier has what another one lacks. Last member, because its thread uses the tiers.
    std::unique_ptr<TierCopy> copy;
  };

  Result<std::vector<CacheTierPtr>> open_tiers(const Use& use) const;
  void set_tiers(std::vector<CacheTierPtr> tiers) PENSTOCK_REQUIRES(mutex_);
  // The analysis cannot know that the tiers are used only after prepare(), and do not change any more then. A lock here
  // would be taken for every sample.
  const Tiers& opened() const PENSTOCK_NO_THREAD_SAFETY_ANALYSIS { return tiers_; }

  const CacheOptions options_;
  mutable std::atomic<bool> has_warned_ = false;
  mutable Mutex mutex_;  // held while the tiers are made
  bool is_prepared_ PENSTOCK_GUARDED_BY(mutex_) = false, is_charged_ PENSTOCK_GUARDED_BY(mutex_) = false;
  Tiers tiers_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock
