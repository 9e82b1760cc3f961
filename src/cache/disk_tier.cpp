#include "cache/disk_tier.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/crc32c.h"
#include "base/stats.h"
#include "cache/shared/contents_file.h"
#include "cache/disk_folder.h"
#include "cache/entry_marks.h"
#include "cache/shared/entry_table.h"
#include "cache/shared/lock_warning.h"

namespace penstock {
namespace {

constexpr double kMemoryRate = 2e9;  // bytes per second: a slower read came from the disk, not from the page cache
constexpr int kExpected = 256;       // how many entries are announced to the kernel after such a read

bool read_whole(int file, MutableBytes bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t got = pread(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

// Allocates a range of the file. Returns 0 or an errno value.
int back(int file, std::uint64_t offset, std::uint64_t bytes) {
  struct stat before{};
  if (fstat(file, &before) != 0) return errno;
  int error = 0;
  do error = fallocate(file, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  while (error == EINTR);
  // Some file systems cannot do this; there, a full disk shows when it is written to.
  if (error == EOPNOTSUPP || error == ENOSYS) return 0;
  // Frees the part of the range that was allocated before the failure.
  if (error != 0 && ftruncate(file, before.st_size) != 0) return errno;
  return error;
}

bool is_entry(const EntryKey& key, ConstBytes bytes, std::uint32_t crc) {
  EntryHead head;
  if (bytes.size() < sizeof head || crc32c(bytes) != crc) return false;
  std::memcpy(&head, bytes.data(), sizeof head);
  return head.key == key && head.bytes <= bytes.size() - sizeof head;
}

class DiskTier final : public CacheTier {
 public:
  DiskTier(const DiskTierOptions& options, DiskFolder folder)
      : options_(options),
        folder_(std::move(folder)),
        table_(folder_.index->bytes(), {.reuses_space = true}),
        marks_(table_.slots()) {}

  bool has_memory() const { return marks_.has_memory(); }

  std::optional<Found> find(const EntryKey& key, const Allocate& allocate) override {
    // Two attempts: another process may have withdrawn and rewritten the entry during the first read.
    MutableBytes memory;
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto location = table_.find(key);
      if (!location) return std::nullopt;
      if (location->offset + location->length > table_.used_bytes()) break;  // damaged: allocate nothing for it
      if (memory.size() != location->length) {
        const auto given = allocate(location->length);
        if (!given) return std::nullopt;
        memory = given->first(location->length);
      }
      const Clock::time_point began = Clock::now();
      const bool is_read = read_whole(folder_.data.get(), memory, location->offset);
      if (seconds_between(began, Clock::now()) > static_cast<double>(memory.size()) / kMemoryRate)
        to_expect_.store(kExpected, std::memory_order_relaxed);
      if (is_read && is_entry(key, memory, location->crc)) 
        return Found{memory, nullptr, marks_.at(*location)};
    }
    if (table_.withdraw(key)) damaged_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }

  TierTraits traits() const override {
    return {.name = "disk", .place = TierPlace::kDisk, .outlives_process = true};
  }

  bool has(const EntryKey& key) const override { return table_.find(key).has_value(); }

  std::optional<std::uint32_t> marked_at(const EntryKey& key) const override {
    const auto location = table_.find(key);
    if (!location) return std::nullopt;
    return marks_.at(*location).moment();
  }

  // Lets the kernel read the entry ahead, because single reads one after another are slow on a disk. The call
  // itself costs time, so it is left out while entries come from the page cache.
  void expect(const EntryKey& key) const override {
    if (to_expect_.load(std::memory_order_relaxed) <= 0) return;
    to_expect_.fetch_sub(1, std::memory_order_relaxed);
    if (const auto location = table_.find(key))
      posix_fadvise(folder_.data.get(), static_cast<off_t>(location->offset), static_cast<off_t>(location->length),
                    POSIX_FADV_WILLNEED);
  }

  Result<Added> add(const EntryKey& key, std::uint64_t bytes, const Fill& fill, const Allocate& allocate,
                    std::uint32_t moment) override {
    return claim_and_write(key, bytes, [&](const EntryTable::Claim& claim) -> Result<Added> {
      const auto memory = allocate(bytes);
      if (!memory) return Added::kFull;
      if (auto filled = fill(*memory); !filled) return std::unexpected(std::move(filled).error());
      return write_entry(claim, *memory, moment);
    });
  }

  Added copy(const EntryKey& key, ConstBytes entry) override {
    const auto write = [&](const EntryTable::Claim& claim) -> Result<Added> {
      return write_entry(claim, entry, 0);
    };
    return claim_and_write(key, entry.size(), write).value_or(Added::kFull);
  }

  void withdraw(const EntryKey& key) override { table_.withdraw(key); }

  std::uint32_t agree(std::uint64_t on, std::uint32_t mine) override { return table_.agree(on, mine); }

  void note(const std::string& words) override { note_contents(folder_.path + "/" + kContentsFile, words); }

  std::uint64_t free_bytes() const override {
    if (cannot_write_.load(std::memory_order_relaxed)) return 0;
    return table_.capacity_bytes() - std::min(table_.capacity_bytes(), table_.used_bytes());
  }

  TierState state() const override {
    const std::uint64_t index = folder_.index->bytes().size();
    return {traits().name,
            index + table_.capacity_bytes(),
            index + table_.used_bytes(),
            table_.entries(),
            damaged_.load(),
            true,
            0,
            table_.lock_timeouts()};
  }

 private:
  using Write = std::function<Result<Added>(const EntryTable::Claim&)>;
  Result<Added> claim_and_write(const EntryKey& key, std::uint64_t bytes, const Write& write) {
    if (cannot_write_.load(std::memory_order_relaxed)) return Added::kFull;
    int refused = 0;
    const auto claim = table_.claim(key, bytes, [&](std::uint64_t offset, std::uint64_t more) {
      refused = back(folder_.data.get(), offset, more);
      return refused == 0;
    });
    if (refused != 0) stop_writing(refused);  // after claim(), which holds the table's lock
    if (!claim) lock_warning_.look_at(table_, options_.warn);
    if (!claim) return claim.error() == EntryTable::Refusal::kTaken ? Added::kTaken : Added::kFull;
    // A damaged table must not make the file larger than its capacity.
    auto added = claim->offset > table_.capacity_bytes() - bytes ? Added::kFull : write(*claim);
    if (!added || *added != Added::kYes) table_.give_up(*claim);
    return added;
  }

  Added write_entry(const EntryTable::Claim& claim, ConstBytes entry, std::uint32_t moment) {
    if (const int refused = write_whole(folder_.data.get(), entry, claim.offset); refused != 0) {
      stop_writing(refused);
      return Added::kFull;
    }
    marks_.at(claim.slot, table_.publish(claim, crc32c(entry))).set(moment);
    return Added::kYes;
  }

  void stop_writing(int why) {
    if (cannot_write_.exchange(true) || !options_.warn) return;
    const bool is_full = why == ENOSPC || why == EDQUOT || why == EFBIG;
    options_.warn(
        fmt::format("{}: nothing more is cached there: {}",
                    is_full ? "the disk is full" : fmt::format("cannot write ({})", std::strerror(why)),
                    options_.folder));
  }

  const DiskTierOptions options_;
  const DiskFolder folder_;
  EntryTable table_;
  const EntryMarks marks_;
  mutable std::atomic<int> to_expect_ = kExpected;
  std::atomic<std::uint64_t> damaged_ = 0;
  std::atomic<bool> cannot_write_ = false;
  LockWarning lock_warning_;
};

}  // namespace

Result<CacheTierPtr> open_disk_tier(const DiskTierOptions& options) {
  auto folder = open_disk_folder(options);
  if (!folder) return std::unexpected(std::move(folder).error());
  auto tier = std::make_unique<DiskTier>(options, std::move(*folder));
  if (!tier->has_memory())
    return fail(ErrorCode::kNoMemory, "no memory for a cache of that size", {options.folder, -1, -1, -1});
  return tier;
}

}  // namespace penstock
