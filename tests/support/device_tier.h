// A cache tier whose entries live on a device, for tests: a stand-in for the memory of a GPU.
//
// The "device memory" is made of pages that the processor must not touch, so that code which reads an entry without
// looking where it is ends with a fault. Code "on the device" reads with on_device().
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/memory/memory_block.h"
#include "cache/tier.h"

namespace penstock {

// Thread-safe.
class DeviceTier final : public CacheTier {
 public:
  static constexpr Device kDevice{DeviceKind::kCuda, 1};

  explicit DeviceTier(std::uint64_t capacity_bytes) : capacity_(capacity_bytes) {}

  TierTraits traits() const override {
    return {.name = "gpu", .place = TierPlace::kDevice, .gives_host_bytes = false};
  }

  std::optional<Found> find(const EntryKey& key, const Allocate&) override {
    const EntryPtr entry = entry_of(key);
    if (!entry) return std::nullopt;
    return Found{{entry->block.data(), entry->size}, entry, {entry->mark, 0}, kDevice};
  }
  bool has(const EntryKey& key) const override { return entry_of(key) != nullptr; }
  std::optional<std::uint32_t> marked_at(const EntryKey& key) const override {
    const EntryPtr entry = entry_of(key);
    if (!entry) return std::nullopt;
    return EntryMark(entry->mark, 0).moment();
  }

  // The entry is made in memory of the caller and "uploaded" from there.
  Result<Added> add(const EntryKey& key, std::uint64_t bytes, const Fill& fill, const Allocate& allocate,
                    std::uint32_t moment) override {
    if (has(key)) return Added::kTaken;
    if (bytes > free_bytes()) return Added::kFull;
    const auto made = allocate(bytes);
    if (!made) return Added::kFull;
    PENSTOCK_CHECK(fill(*made));
    auto entry = std::make_shared<Entry>();
    entry->size = bytes;
    entry->block = MemoryBlock::allocate(bytes, page_allocator());
    std::copy(made->begin(), made->end(), entry->block.data());
    mprotect(entry->block.data(), entry->block.size(), PROT_NONE);
    EntryMark(entry->mark, 0).set(moment);
    const std::lock_guard lock(mutex_);
    entries_.emplace_back(key, std::move(entry));
    return Added::kYes;
  }

  void withdraw(const EntryKey& key) override {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const auto& entry) { return entry.first == key; });
  }

  std::uint64_t free_bytes() const override { return capacity_ - state().used_bytes; }
  TierState state() const override {
    const std::lock_guard lock(mutex_);
    TierState state{.name = traits().name, .capacity_bytes = capacity_, .entries = entries_.size()};
    for (const auto& [key, entry] : entries_) state.used_bytes += entry->size;
    return state;
  }

  // What code that runs on the device sees of an entry.
  static std::string on_device(const Found& found) {
    const auto entry = std::static_pointer_cast<const Entry>(found.held);
    mprotect(entry->block.data(), entry->block.size(), PROT_READ);
    std::string seen(reinterpret_cast<const char*>(found.bytes.data()), found.bytes.size());
    mprotect(entry->block.data(), entry->block.size(), PROT_NONE);
    return seen;
  }

 private:
  struct Entry {
    MemoryBlock block;
    std::uint64_t size = 0;
    mutable std::atomic<std::uint64_t> mark{0};
  };
  using EntryPtr = std::shared_ptr<Entry>;

  EntryPtr entry_of(const EntryKey& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(entries_, key, &std::pair<EntryKey, EntryPtr>::first);
    return found == entries_.end() ? nullptr : found->second;
  }

  const std::uint64_t capacity_;
  mutable std::mutex mutex_;
  std::vector<std::pair<EntryKey, EntryPtr>> entries_;
};

}  // namespace penstock
