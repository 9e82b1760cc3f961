#include "cache/ram_tier.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/text/byte_units.h"
#include "base/checked_math.h"
#include "base/machine.h"
#include "base/memory/memory_block.h"
#include "cache/entry_marks.h"
#include "cache/shared/entry_table.h"
#include "cache/shared/lock_warning.h"
#include "cache/shared/shared_file.h"

namespace penstock {
namespace {

// The tier stops to grow when the machine has less free memory than this, whatever its capacity.
constexpr std::uint64_t kReservedFreeBytes = 64 * kMiB;
constexpr std::uint64_t kSlabBytes = 8 * kMiB;  // allocated at once, after a check of the free memory
constexpr std::int64_t kRefusalMs = 1000;    // pause before free memory is checked again
constexpr std::uint64_t kMinStripeBytes = 256 * kMiB, kMinEntriesPerStripe = 64, kMaxStripes = 16;
constexpr std::uint64_t kMinEntryBytes = 512;  // bounds the table: a smaller mean size would make it too large

std::string prefix() { return fmt::format("penstock-1-{}-", geteuid()); }

// Why a new tier of this size cannot be made in the folder; empty where it can.
std::string reason_against(const std::string& folder, std::uint64_t capacity) {
  struct statvfs status{};
  if (statvfs(folder.c_str(), &status) != 0) return fmt::format("{}: {}", folder, std::strerror(errno));
  const std::uint64_t free = std::uint64_t{status.f_bavail} * status.f_frsize;
  if (free >= capacity) return "";
  return fmt::format("{} has {} MiB left, but the cache needs {} MiB", folder, free / kMiB, capacity / kMiB);
}

// One part of the tier's memory: a table, followed by the area with the entries.
struct Stripe {
  // The memory is that of `file_` if it is not nullptr, else `block_`.
  Stripe(std::unique_ptr<SharedFile> file_, MemoryBlock block_, std::uint64_t table_bytes)
      : file(std::move(file_)),
        block(std::move(block_)),
        memory(file ? file->bytes() : MutableBytes(block.data(), block.size())),
        table(memory.first(table_bytes), {false, kSlabBytes}),
        area(memory.subspan(table_bytes)),
        marks(table.slots()) {}

  std::uint64_t free_bytes() const {
    return table.capacity_bytes() - std::min(table.capacity_bytes(), table.used_bytes());
  }
  bool is_lost() const { return file && file->is_lost(); }
  std::uint64_t used_bytes() const { return memory.size() - area.size() + table.used_bytes(); }

  const std::unique_ptr<SharedFile> file;
  const MemoryBlock block;
  const MutableBytes memory;
  EntryTable table;
  const MutableBytes area;
  const EntryMarks marks;
};

using Stripes = std::vector<std::unique_ptr<Stripe>>;

// The key of an entry chooses its stripe; if that is full, the entry goes to one of the stripes after it.
class RamTier final : public CacheTier {
 public:
  RamTier(Stripes stripes, Warn warn) : stripes_(std::move(stripes)), warn_(std::move(warn)) {}

  TierTraits traits() const override { return {.name = "ram"}; }

  std::optional<Found> find(const EntryKey& key, const Allocate&) override {
    for (std::size_t turn = 0; turn < stripes_.size(); ++turn) {
      const Stripe& stripe = stripe_of(key, turn);
      if (const auto location = stripe.table.find(key); location && !stripe.is_lost())
        return Found{stripe.area.subspan(location->offset, location->length), nullptr,
                     stripe.marks.at(*location)};
    }
    return std::nullopt;
  }

  std::optional<std::uint32_t> marked_at(const EntryKey& key) const override {
    for (std::size_t turn = 0; turn < stripes_.size(); ++turn) {
      const Stripe& stripe = stripe_of(key, turn);
      if (const auto location = stripe.table.find(key))
        return stripe.marks.at(*location).moment();
    }
    return std::nullopt;
  }

  bool has(const EntryKey& key) const override {
    return std::ranges::any_of(stripes_,
                               [&](const auto& stripe) { return stripe->table.find(key).has_value(); });
  }

  Result<Added> add(const EntryKey& key, std::uint64_t bytes, const Fill& fill, const Allocate& allocate,
                    std::uint32_t moment) override {
    if (is_refused()) return Added::kFull;
    for (std::size_t turn = 0; turn < stripes_.size(); ++turn) {
      Stripe& stripe = stripe_of(key, turn);
      const auto claim =
          stripe.table.claim(key, bytes, [this](std::uint64_t, std::uint64_t more) { return is_free(more); });
      if (!claim && claim.error() == EntryTable::Refusal::kTaken) return Added::kTaken;
      if (!claim) {
        lock_warning_.look_at(stripe.table, warn_);
        continue;
      }
      const auto written = write(stripe, stripe.area.subspan(claim->offset, bytes), fill, allocate);
      if (!written || !*written) {
        stripe.table.give_up(*claim);
        if (written) return Added::kFull;
        return std::unexpected(written.error());
      }
      stripe.marks.at(claim->slot, stripe.table.publish(*claim, 0)).set(moment);
      return Added::kYes;
    }
    return Added::kFull;
  }

  std::uint64_t slots() const override {
    std::uint64_t sum = 0;
    for (const auto& stripe : stripes_) sum += stripe->table.slots();
    return sum;
  }

  std::optional<EntryKey> key_at(std::uint64_t slot) const override {
    for (const auto& stripe : stripes_) {
      if (slot < stripe->table.slots()) return stripe->table.key_at(slot);
      slot -= stripe->table.slots();
    }
    return std::nullopt;
  }

  void withdraw(const EntryKey& key) override {
    for (const auto& stripe : stripes_) stripe->table.withdraw(key);
  }

  std::uint32_t agree(std::uint64_t on, std::uint32_t mine) override {
    return stripes_.front()->table.agree(on, mine);
  }

  std::uint64_t free_bytes() const override {
    std::uint64_t bytes = 0;
    for (const auto& stripe : stripes_) bytes += stripe->free_bytes();
    return is_refused() ? 0 : bytes;
  }

  TierState state() const override {
    TierState all{traits().name, 0, 0, 0, 0, stripes_.front()->file != nullptr};
    for (const auto& stripe : stripes_) {
      all.capacity_bytes += stripe->memory.size();
      all.used_bytes += stripe->used_bytes();
      all.entries += stripe->table.entries();
      all.lock_timeouts += stripe->table.lock_timeouts();
    }
    return all;
  }

 private:
  Stripe& stripe_of(const EntryKey& key, std::size_t turn) const {
    return *stripes_[(key.low % stripes_.size() + turn) % stripes_.size()];
  }

  // Shared memory is written by a system call: that costs half as much as page faults on fresh pages, and a
  // lack of memory becomes an error code instead of a crash. Returns false if there was no memory.
  Result<bool> write(const Stripe& stripe, MutableBytes entry, const Fill& fill, const Allocate& allocate) {
    if (!stripe.file) {
      PENSTOCK_CHECK(fill(entry));
      return true;
    }
    const auto made = allocate(entry.size());
    if (!made) return false;
    PENSTOCK_CHECK(fill(*made));
    const auto offset = static_cast<std::uint64_t>(entry.data() - stripe.memory.data());
    const auto written = stripe.file->write(offset, *made);
    if (!written) refuse(written.error().describe());
    return written.has_value();
  }

  // Every sample asks again after a refusal; this keeps most of these calls away from the system.
  bool is_refused() const { return now_ms() < refused_until_.load(std::memory_order_relaxed); }

  bool is_free(std::uint64_t bytes) {
    const std::uint64_t free = free_memory_bytes();
    if (free >= bytes + kReservedFreeBytes) return true;
    refuse(fmt::format("only {} MiB of memory are free", free / kMiB));
    return false;
  }

  void refuse(const std::string& why) {
    refused_until_.store(now_ms() + kRefusalMs, std::memory_order_relaxed);
    std::call_once(warned_, [&] {
      const TierState now = state();
      if (warn_)
        warn_(fmt::format("the cache stays at {} of {} MiB: {}", now.used_bytes / kMiB,
                          now.capacity_bytes / kMiB, why));
    });
  }

  static std::int64_t now_ms() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::milliseconds(1);
  }

  const Stripes stripes_;
  const Warn warn_;
  std::atomic<std::int64_t> refused_until_{0};
  std::once_flag warned_;
  LockWarning lock_warning_;
};

std::uint64_t table_bytes(std::uint64_t capacity, std::uint64_t entries) {
  return EntryTable::bytes_for(std::clamp<std::uint64_t>(entries, 64, capacity / kMinEntryBytes + 64));
}

Status too_small(std::uint64_t capacity) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("a cache of {} bytes is too small: it needs at least 1 MiB", capacity));
}

Status no_memory(std::uint64_t capacity) {
  return fail(ErrorCode::kNoMemory, fmt::format("no memory for a cache of {} MiB", capacity / kMiB));
}

Result<CacheTierPtr> open_private(const RamTierOptions& options, const std::string& why) {
  const std::uint64_t capacity = options.capacity_bytes / std::max(1u, options.processes);
  if (options.warn)
    options.warn(fmt::format("shared memory cannot be used ({}): {} MiB of cache for this process alone",
                             why, capacity / kMiB));
  if (capacity < kMiB) return std::unexpected(too_small(capacity).error());
  MemoryBlock block = MemoryBlock::allocate(capacity);
  if (block.size() < capacity)
    return std::unexpected(no_memory(capacity).error());
  const std::uint64_t table = table_bytes(capacity, options.expected_entries);
  EntryTable::format({block.data(), table}, capacity - table);
  Stripes stripes;
  stripes.push_back(std::make_unique<Stripe>(nullptr, std::move(block), table));
  if (!stripes.front()->marks.has_memory()) return std::unexpected(no_memory(capacity).error());
  return std::make_unique<RamTier>(std::move(stripes), options.warn);
}

Result<std::unique_ptr<Stripe>> attach_stripe(const std::string& path, std::uint64_t capacity,
                                              std::uint64_t entries) {
  const std::uint64_t table = table_bytes(capacity, entries);
  auto file = SharedFile::attach(path, capacity, true, [&](const SharedFile& fresh) -> Status {
    PENSTOCK_CHECK(fresh.make_empty(table));
    EntryTable::format(fresh.bytes().first(table), capacity - table);
    return {};
  });
  if (!file) return std::unexpected(file.error());
  const MutableBytes memory = (*file)->bytes().first(table);
  if (!EntryTable::is_formatted(memory))
    return fail(ErrorCode::kChanged, "is not a cache file of this version", {path, -1, -1, -1});
  if (EntryTable(memory, {}).machine() != this_machine())
    return fail(ErrorCode::kChanged, "belongs to another container", {path, -1, -1, -1});
  auto stripe = std::make_unique<Stripe>(std::move(*file), MemoryBlock(), table);
  if (!stripe->marks.has_memory()) return std::unexpected(no_memory(capacity).error());
  return stripe;
}

}  // namespace

std::string shared_memory_folder() {
  const char* folder = std::getenv("PENSTOCK_SHARED_MEMORY_DIR");
  return folder == nullptr || *folder == '\0' ? "/dev/shm" : folder;
}

std::uint32_t useful_stripes(std::uint64_t capacity_bytes, std::uint64_t entry_bytes) {
  // At the end of each stripe, less than one entry of space is wasted. Large stripes keep that part small.
  const std::uint64_t least =
      std::max(kMinStripeBytes, checked_multiply(entry_bytes, kMinEntriesPerStripe).value_or(UINT64_MAX));
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(capacity_bytes / least, 1, kMaxStripes));
}

Result<CacheTierPtr> open_ram_tier(const RamTierOptions& options) {
  const std::uint64_t capacity = options.capacity_bytes;
  if (capacity < kMiB) return std::unexpected(too_small(capacity).error());
  remove_abandoned(options.folder, prefix());
  const std::string path = fmt::format("{}/{}{}-", options.folder, prefix(), options.name);
  const bool is_there = access((path + "0").c_str(), F_OK) == 0;
  if (!is_there)
    if (const std::string reason = reason_against(options.folder, capacity); !reason.empty())
      return open_private(options, reason);
  Stripes stripes;
  for (std::uint32_t i = 0; i < options.stripes; ++i) {
    // A quarter more slots than its share, because keys do not spread entries evenly.
    const std::uint64_t entries = options.expected_entries / options.stripes;
    auto stripe = attach_stripe(path + std::to_string(i), capacity / options.stripes,
                                options.stripes > 1 ? entries + entries / 4 : entries);
    if (!stripe) return open_private(options, stripe.error().describe());
    stripes.push_back(std::move(*stripe));
  }
  return std::make_unique<RamTier>(std::move(stripes), options.warn);
}

}  // namespace penstock
