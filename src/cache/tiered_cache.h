// The tiers of a cache, one after another: what the first has no room for goes to the next. Once all samples
// are in one of them, those in memory are copied to disk for the next run (cache/tier_copy.h). Thread-safe.
#pragma once

#include <mutex>

#include "cache/tier.h"
#include "cache/tier_copy.h"

namespace penstock {

constexpr std::size_t kMaxTiers = 2;

class TieredCache final : public Cache {
 public:
  explicit TieredCache(CacheOptions options) : options_(std::move(options)) {}

  // Of the first loader that uses it: the tiers are made for it, others take part.
  struct Use {
    std::uint64_t identity = 0;  // of data and steps: processes with the same share the memory
    std::uint64_t ram_entries = 0, disk_entries = 0;  // that it will want to keep there
    std::uint64_t entry_bytes = 0;                    // of a usual one
    std::uint32_t processes = 1;
  };
  Status prepare(const Use& use);
  // The memory that a loader has to answer for while it is open: for the first of a process its part of the
  // tier, for others none.
  std::uint64_t take_charge(std::uint32_t processes);
  void give_back_charge();

  struct Hit {
    std::size_t tier = 0;
    CacheTier::Found found;
  };
  std::optional<Hit> find(const EntryKey& key, const CacheTier::Allocate& allocate) const;
  bool has(const EntryKey& key) const;
  // It will be looked for soon, where a tier can make use of that.
  void expect(const EntryKey& key) const;
  // The moment of the entry's mark, where it is found first; nothing: it is not there.
  std::optional<std::uint32_t> marked_at(const EntryKey& key) const;
  // How an entry is kept: the moment of its mark, and whether it may go to disk.
  struct Keeping {
    std::uint32_t moment = 0;
    bool stays_in_memory = false;
  };
  // True: it is in now.
  Result<bool> add(const EntryKey& key, std::uint64_t bytes, const CacheTier::Fill& fill,
                   const CacheTier::Allocate& allocate, const Keeping& keeping) const;
  void withdraw(const EntryKey& key) const;
  // Of this process's part of all tiers.
  std::uint64_t free_bytes() const;
  // All who share a tier agree on a number (not 0): what the tier that stays longest has noted goes first.
  std::uint32_t agree(std::uint64_t on, std::uint32_t mine) const;
  // A loader begins to keep these entries; an epoch of it ended, or it was closed.
  void add_wanted(std::shared_ptr<WantedEntries> wanted) const;
  void look_again() const;
  // Passes a message on, the first time.
  void warn_of_no_version(const std::string& message) const;
  // What is cached there, in words, for people who look at a folder later.
  void note(const std::string& words) const;

  const CacheOptions& options() const override { return options_; }
  std::vector<TierState> tiers() const override;

 private:
  Status open_tiers(const Use& use);

  const CacheOptions options_;
  mutable std::mutex mutex_;  // of making the tiers; afterwards they are only read
  bool is_prepared_ = false, is_charged_ = false;
  std::uint32_t processes_ = 1;
  mutable std::atomic<bool> has_warned_ = false;
  std::vector<CacheTierPtr> tiers_;
  std::unique_ptr<TierCopy> copy_;  // where there is memory and disk; its thread uses the tiers
};

}  // namespace penstock
