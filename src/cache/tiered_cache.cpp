#include "cache/tiered_cache.h"

#include <fmt/format.h>

#include <ranges>

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

Status TieredCache::prepare(const Use& use) {
  const MutexLock lock(mutex_);
  if (is_prepared_) return {};
  tiers_.processes = std::max(1u, use.processes);
  PENSTOCK_CHECK(open_tiers(use));
  is_prepared_ = true;
  return {};
}

std::uint64_t TieredCache::take_charge(std::uint32_t processes) {
  const MutexLock lock(mutex_);
  return std::exchange(is_charged_, true) ? 0 : options_.ram_bytes / std::max(1u, processes);
}

void TieredCache::give_back_charge() {
  const MutexLock lock(mutex_);
  is_charged_ = false;
}

Status TieredCache::open_tiers(const Use& use) {
  if (options_.policy == CachePolicy::kLru) {
    tiers_.list.push_back(make_lru_tier(options_.ram_bytes / std::max(1u, use.processes)));
    return {};
  }
  if (options_.ram_bytes > 0) {
    const std::uint64_t identity = mix64(use.identity ^ mix64(options_.ram_bytes ^ mix64(use.ram_entries)));
    auto ram =
        open_ram_tier({fmt::format("{:016x}", identity), options_.ram_bytes, use.ram_entries,
                       useful_stripes(options_.ram_bytes, use.entry_bytes), use.processes, options_.warn});
    if (!ram) return std::unexpected(std::move(ram).error());
    tiers_.list.push_back(std::move(*ram));
  }
  if (options_.disk_bytes > 0) {
    auto disk = open_disk_tier({options_.disk_folder, options_.disk_bytes, use.disk_entries, options_.warn});
    if (disk)
      tiers_.list.push_back(std::move(*disk));
    else if (options_.warn)
      options_.warn(fmt::format("goes on without the cache on disk: {}", disk.error().describe()));
    if (tiers_.list.size() == 2) tiers_.copy = std::make_unique<TierCopy>(*tiers_.list[0], *tiers_.list[1]);
  }
  return {};
}

std::optional<TieredCache::Hit> TieredCache::find(const EntryKey& key, const CacheTier::Allocate& allocate) const {
  const std::vector<CacheTierPtr>& tiers = opened().list;
  for (std::size_t tier = 0; tier < tiers.size(); ++tier)
    if (auto found = tiers[tier]->find(key, allocate)) return Hit{tier, std::move(*found)};
  return std::nullopt;
}

bool TieredCache::has(const EntryKey& key) const {
  for (const CacheTierPtr& tier : opened().list)
    if (tier->has(key)) return true;
  return false;
}

std::optional<std::uint32_t> TieredCache::marked_at(const EntryKey& key) const {
  for (const CacheTierPtr& tier : opened().list)
    if (const auto moment = tier->marked_at(key)) return moment;
  return std::nullopt;
}

void TieredCache::warn_of_no_version(const std::string& message) const {
  if (!has_warned_.exchange(true) && options_.warn) options_.warn(message);
}

void TieredCache::expect(const EntryKey& key) const {
  for (const CacheTierPtr& tier : opened().list) tier->expect(key);
}

Result<bool> TieredCache::add(const EntryKey& key, std::uint64_t bytes, const CacheTier::Fill& fill,
                              const CacheTier::Allocate& allocate, const Keeping& keeping) const {
  const std::vector<CacheTierPtr>& tiers = opened().list;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const bool is_disk = i > 0 || options_.ram_bytes == 0;
    if (keeping.stays_in_memory && is_disk) break;
    const auto added = tiers[i]->add(key, bytes, fill, allocate, keeping.moment);
    if (!added) return std::unexpected(added.error());
    if (*added != CacheTier::Added::kFull) return *added == CacheTier::Added::kYes;
  }
  return false;
}

void TieredCache::withdraw(const EntryKey& key) const {
  for (const CacheTierPtr& tier : opened().list) tier->withdraw(key);
}

std::uint64_t TieredCache::free_bytes() const {
  std::uint64_t bytes = 0;
  for (const CacheTierPtr& tier : opened().list) bytes += std::min(tier->free_bytes(), UINT64_MAX - bytes);
  return bytes / opened().processes;
}

std::uint32_t TieredCache::agree(std::uint64_t on, std::uint32_t mine) const {
  for (const CacheTierPtr& tier : std::views::reverse(opened().list)) mine = tier->agree(on, mine);
  return mine;
}

void TieredCache::add_wanted(std::shared_ptr<WantedEntries> wanted) const {
  if (const auto& copy = opened().copy) copy->add_wanted(std::move(wanted));
}

void TieredCache::look_again() const {
  if (const auto& copy = opened().copy) copy->look_again();
}

void TieredCache::note(const std::string& words) const {
  for (const CacheTierPtr& tier : opened().list) tier->note(words);
}

std::vector<TierState> TieredCache::tiers() const {
  const MutexLock lock(mutex_);
  std::vector<TierState> states;
  for (const CacheTierPtr& tier : tiers_.list) states.push_back(tier->state());
  if (tiers_.copy) states.back().copied = tiers_.copy->copied();
  return states;
}

}  // namespace penstock
