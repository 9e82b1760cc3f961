#include "cache/ram_tier.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "base/machine.h"
#include "cache/entry_table.h"
#include "cache/shared_file.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
// Left to everybody else: the tier does not take the last memory of the machine, whatever was asked for.
constexpr std::uint64_t kLeaveFree = 64 * kMiB;
constexpr std::uint64_t kSlab = 8 * kMiB;  // before each of which the machine's free memory is looked at
constexpr std::int64_t kPauseMs = 1000;    // after there was none
constexpr std::uint64_t kLeastEntryBytes = 512;  // smaller ones only fill the table

std::string prefix() { return fmt::format("penstock-1-{}-", geteuid()); }

std::uint64_t room_in(const std::string& folder) {
  struct statvfs status{};
  if (statvfs(folder.c_str(), &status) != 0) return 0;
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

class RamTier final : public CacheTier {
 public:
  // One of `file` and `block` is there.
  RamTier(std::unique_ptr<SharedFile> file, MemoryBlock block, std::uint64_t table_bytes, Warn warn)
      : file_(std::move(file)),
        block_(std::move(block)),
        memory_(file_ ? file_->bytes() : MutableBytes(block_.data(), block_.size())),
        table_(memory_.first(table_bytes), {false, kSlab}),
        area_(memory_.subspan(table_bytes)),
        checked_(std::make_unique<std::atomic<std::uint32_t>[]>(table_.slots())),
        warn_(std::move(warn)) {}

  std::optional<Found> find(const EntryKey& key, const Room&) override {
    const auto place = table_.find(key);
    if (!place) return std::nullopt;
    return Found{area_.subspan(place->offset, place->length), nullptr, &checked_[place->slot]};
  }

  bool has(const EntryKey& key) const override { return table_.find(key).has_value(); }

  Result<Added> add(const EntryKey& key, std::uint64_t bytes, const Fill& fill, const Room& room) override {
    const auto claim =
        table_.claim(key, bytes, [this](std::uint64_t, std::uint64_t more) { return is_free(more); });
    if (!claim) return claim.error() == EntryTable::Refusal::kTaken ? Added::kTaken : Added::kNoRoom;
    const auto written = write(area_.subspan(claim->offset, bytes), fill, room);
    if (!written || !*written) {
      table_.give_up(*claim);
      if (written) return Added::kNoRoom;
      return std::unexpected(written.error());
    }
    table_.publish(*claim, 0);
    return Added::kYes;
  }

  void withdraw(const EntryKey& key) override { table_.withdraw(key); }

  std::uint32_t agree(std::uint64_t on, std::uint32_t mine) override { return table_.agree(on, mine); }

  std::uint64_t free_bytes() const override {
    return table_.capacity_bytes() - std::min(table_.capacity_bytes(), table_.used_bytes());
  }

  TierState state() const override {
    return {"ram", memory_.size(),  memory_.size() - area_.size() + table_.used_bytes(), table_.entries(),
            0,     file_ != nullptr};
  }

 private:
  // Shared memory is written by a system call: fresh pages come at half the price of touching them, and one
  // that is not to be had is an answer and not a crash. False: there was none.
  Result<bool> write(MutableBytes entry, const Fill& fill, const Room& room) {
    if (!file_) {
      PENSTOCK_CHECK(fill(entry));
      return true;
    }
    const auto made = room(entry.size());
    if (!made) return false;
    PENSTOCK_CHECK(fill(*made));
    const auto written = file_->write(static_cast<std::uint64_t>(entry.data() - memory_.data()), *made);
    if (!written) refuse(written.error().describe());
    return written.has_value();
  }

  // Whoever was refused asks again with every sample: not the system, every time.
  bool is_free(std::uint64_t bytes) {
    if (now_ms() < refused_until_.load(std::memory_order_relaxed)) return false;
    const std::uint64_t free = free_memory_bytes();
    if (free >= bytes + kLeaveFree) return true;
    refuse(fmt::format("only {} MiB of memory are free", free / kMiB));
    return false;
  }

  void refuse(const std::string& why) {
    refused_until_.store(now_ms() + kPauseMs, std::memory_order_relaxed);
    std::call_once(warned_, [&] {
      if (warn_)
        warn_(fmt::format("the cache stays at {} of {} MiB: {}", state().used_bytes / kMiB,
                          memory_.size() / kMiB, why));
    });
  }

  static std::int64_t now_ms() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::milliseconds(1);
  }

  const std::unique_ptr<SharedFile> file_;
  const MemoryBlock block_;
  const MutableBytes memory_;
  EntryTable table_;
  const MutableBytes area_;
  const std::unique_ptr<std::atomic<std::uint32_t>[]> checked_;
  const Warn warn_;
  std::atomic<std::int64_t> refused_until_{0};
  std::once_flag warned_;
};

std::uint64_t table_bytes(std::uint64_t capacity, std::uint64_t entries) {
  return EntryTable::bytes_for(std::clamp<std::uint64_t>(entries, 64, capacity / kLeastEntryBytes + 64));
}

Status too_small(std::uint64_t capacity) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("a cache of {} bytes: at least 1 MiB", capacity));
}

Result<CacheTierPtr> open_private(const RamTierOptions& options, const std::string& why) {
  const std::uint64_t capacity = options.capacity_bytes / std::max(1u, options.processes);
  if (options.warn)
    options.warn(fmt::format("shared memory is not to be had ({}): {} MiB of cache for this process alone",
                             why, capacity / kMiB));
  if (capacity < kMiB) return std::unexpected(too_small(capacity).error());
  MemoryBlock block = MemoryBlock::allocate(capacity);
  if (block.size() < capacity)
    return fail(ErrorCode::kNoMemory, fmt::format("no memory for a cache of {} MiB", capacity / kMiB));
  const std::uint64_t table = table_bytes(capacity, options.expected_entries);
  EntryTable::format({block.data(), table}, capacity - table);
  return std::make_unique<RamTier>(nullptr, std::move(block), table, options.warn);
}

}  // namespace

Result<CacheTierPtr> open_ram_tier(const RamTierOptions& options) {
  const std::uint64_t capacity = options.capacity_bytes;
  if (capacity < kMiB) return std::unexpected(too_small(capacity).error());
  remove_abandoned(options.folder, prefix());
  const std::string path = fmt::format("{}/{}{}", options.folder, prefix(), options.name);
  const bool is_there = access(path.c_str(), F_OK) == 0;
  if (const std::uint64_t room = room_in(options.folder); !is_there && room < capacity)
    return open_private(options, fmt::format("{} has {} MiB left, the cache takes {}", options.folder,
                                             room / kMiB, capacity / kMiB));
  const std::uint64_t table = table_bytes(capacity, options.expected_entries);
  auto file = SharedFile::attach(path, capacity, table, true, [&](MutableBytes memory) -> Status {
    EntryTable::format(memory.first(table), memory.size() - table);
    return {};
  });
  if (!file) return open_private(options, file.error().describe());
  if (!EntryTable::is_formatted((*file)->bytes().first(table)))
    return open_private(options, path + " is something else");
  if (EntryTable((*file)->bytes().first(table), {}).machine() != this_machine())
    return open_private(options, path + " is another container's");
  return std::make_unique<RamTier>(std::move(*file), MemoryBlock(), table, options.warn);
}

}  // namespace penstock
