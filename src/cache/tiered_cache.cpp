#include "cache/tiered_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "cache/disk_tier.h"
#include "cache/lru_tier.h"
#include "cache/ram_tier.h"

namespace penstock {
namespace {

constexpr std::uint64_t kLeastDiskBytes = 64 << 10;

}  // namespace

Result<std::shared_ptr<Cache>> Cache::open(const CacheOptions& options) {
  const auto bad = [](const char* message) { return fail(ErrorCode::kInvalidArgument, message); };
  if (options.ram_bytes == 0 && options.disk_bytes == 0) return bad("a cache wants ram= or disk=");
  if ((options.disk_bytes == 0) != options.disk_folder.empty())
    return bad("the disk tier wants a folder and a size, as in disk=\"folder:200GiB\"");
  if (!options.disk_folder.empty() && options.disk_bytes < kLeastDiskBytes)
    return bad("the disk tier wants at least 64 KiB");
  if (options.policy == CachePolicy::kLru && options.disk_bytes > 0)
    return bad("policy=\"lru\" is for comparison, in memory alone");
  return std::make_shared<TieredCache>(options);
}

TieredCache::TieredCache(CacheOptions options, std::vector<CacheTierPtr> tiers) : options_(std::move(options)) {
  const MutexLock lock(mutex_);
  set_tiers(std::move(tiers));
}

Status TieredCache::prepare(const Use& use) {
  const MutexLock lock(mutex_);
  if (is_prepared_) return {};
  tiers_.processes = std::max(1u, use.processes);
  auto tiers = open_tiers(use);
  if (!tiers) return std::unexpected(std::move(tiers).error());
  set_tiers(std::move(*tiers));
  return {};
}

void TieredCache::set_tiers(std::vector<CacheTierPtr> tiers) {
  if (auto route = choose_copy(tiers)) tiers_.copy = std::make_unique<TierCopy>(std::move(*route));
  for (CacheTierPtr& tier : tiers) {
    TierTraits traits = tier->traits();
    tiers_.list.push_back({std::move(traits), std::move(tier)});
  }
  is_prepared_ = true;
}

std::uint64_t TieredCache::take_charge(std::uint32_t processes) {
  const MutexLock lock(mutex_);
  return std::exchange(is_charged_, true) ? 0 : options_.ram_bytes / std::max(1u, processes);
}

void TieredCache::give_back_charge() {
  const MutexLock lock(mutex_);
  is_charged_ = false;
}

Result<std::vector<CacheTierPtr>> TieredCache::open_tiers(const Use& use) const {
  std::vector<CacheTierPtr> tiers;
  if (options_.policy == CachePolicy::kLru) {
    tiers.push_back(make_lru_tier(options_.ram_bytes / std::max(1u, use.processes)));
    return tiers;
  }
  if (options_.ram_bytes > 0) {
    const std::uint64_t identity = mix64(use.identity ^ mix64(options_.ram_bytes ^ mix64(use.ram_entries)));
    auto ram =
        open_ram_tier({fmt::format("{:016x}", identity), options_.ram_bytes, use.ram_entries,
                       useful_stripes(options_.ram_bytes, use.entry_bytes), use.processes, options_.warn});
    if (!ram) return std::unexpected(std::move(ram).error());
    tiers.push_back(std::move(*ram));
  }
  if (options_.disk_bytes > 0) {
    auto disk = open_disk_tier({options_.disk_folder, options_.disk_bytes, use.disk_entries, options_.warn});
    if (disk)
      tiers.push_back(std::move(*disk));
    else if (options_.warn)
      options_.warn(fmt::format("goes on without the cache on disk: {}", disk.error().describe()));
  }
  return tiers;
}

std::optional<TieredCache::Hit> TieredCache::find(const EntryKey& key, const CacheTier::Allocate& allocate,
                                                  EntryReader reader) const {
  const std::vector<Tier>& tiers = opened().list;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    if (!tiers[i].serves(reader)) continue;
    if (auto found = tiers[i].tier->find(key, allocate)) return Hit{i, std::move(*found)};
  }
  return std::nullopt;
}

bool TieredCache::has(const EntryKey& key, EntryReader reader) const {
  return std::ranges::any_of(opened().list,
                             [&](const Tier& tier) { return tier.serves(reader) && tier.tier->has(key); });
}

std::optional<std::uint32_t> TieredCache::marked_at(const EntryKey& key, EntryReader reader) const {
  for (const Tier& tier : opened().list) {
    if (!tier.serves(reader)) continue;
    if (const auto moment = tier.tier->marked_at(key)) return moment;
  }
  return std::nullopt;
}

void TieredCache::warn_of_no_version(const std::string& message) const {
  if (!has_warned_.exchange(true) && options_.warn) options_.warn(message);
}

void TieredCache::expect(const EntryKey& key) const {
  for (const Tier& tier : opened().list) tier.tier->expect(key);
}

Result<bool> TieredCache::add(const EntryKey& key, std::uint64_t bytes, const CacheTier::Fill& fill,
                              const CacheTier::Allocate& allocate, const Keeping& keeping) const {
  for (const Tier& tier : opened().list) {
    if (!tier.serves(keeping.reader) || (keeping.stays_in_memory && tier.traits.outlives_process)) continue;
    const auto added = tier.tier->add(key, bytes, fill, allocate, keeping.moment);
    if (!added) return std::unexpected(added.error());
    if (*added != CacheTier::Added::kFull) return *added == CacheTier::Added::kYes;
  }
  return false;
}

void TieredCache::withdraw(const EntryKey& key) const {
  for (const Tier& tier : opened().list) tier.tier->withdraw(key);
}

std::uint64_t TieredCache::free_bytes(EntryReader reader) const {
  std::uint64_t bytes = 0;
  for (const Tier& tier : opened().list)
    if (tier.serves(reader)) bytes += std::min(tier.tier->free_bytes(), UINT64_MAX - bytes);
  return bytes / opened().processes;
}

std::uint32_t TieredCache::agree(std::uint64_t on, std::uint32_t mine) const {
  // Tiers that may have a number of an earlier run are asked first. The others get to know that number.
  for (const bool outlives_process : {true, false})
    for (const Tier& tier : opened().list)
      if (tier.traits.outlives_process == outlives_process) mine = tier.tier->agree(on, mine);
  return mine;
}

void TieredCache::add_wanted(std::shared_ptr<WantedEntries> wanted) const {
  if (const auto& copy = opened().copy) copy->add_wanted(std::move(wanted));
}

void TieredCache::look_again() const {
  if (const auto& copy = opened().copy) copy->look_again();
}

void TieredCache::note(const std::string& words) const {
  for (const Tier& tier : opened().list) tier.tier->note(words);
}

std::vector<TierState> TieredCache::tiers() const {
  const MutexLock lock(mutex_);
  std::vector<TierState> states;
  for (const Tier& tier : tiers_.list) states.push_back(tier.tier->state());
  if (tiers_.copy) states[tiers_.copy->target()].copied = tiers_.copy->copied();
  return states;
}

}  // namespace penstock
