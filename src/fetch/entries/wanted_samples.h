// Answers the copying of entries to disk whether all entries of a loader are in the cache.
//
// note_looked() and note_added() may be called from any thread, and so may start_epoch() and end(); look() belongs to
// the thread that copies.
#pragma once

#include <atomic>
#include <memory>

#include "cache/tier_copy.h"
#include "fetch/entries/sample_keys.h"

namespace penstock {

class WantedSamples final : public WantedEntries {
 public:
  explicit WantedSamples(std::shared_ptr<const SampleKeys> keys) : keys_(std::move(keys)) {}

  void note_looked() { set(looked_); }
  void note_added() { set(added_); }
  // If entries were looked up in the last epoch and none was added, the missing ones will never be added: they are bad
  // samples, or the sampler does not draw them, or the cache is full.
  void start_epoch() {
    const bool looked = looked_.exchange(false), added = added_.exchange(false);
    if (looked && !added) is_settled_ = true;
  }
  // Called when the loader is closed.
  void end() { is_ended_ = true; }

  State look(const Has& has, const std::stop_token& stop) override;

 private:
  // Many threads call this for every sample. Only the first writes, so that they do not share a modified cache line.
  static void set(std::atomic<bool>& flag) {
    if (!flag.load(std::memory_order_relaxed)) flag.store(true, std::memory_order_relaxed);
  }
  bool are_all_in(const Has& has, const std::stop_token& stop);

  const std::shared_ptr<const SampleKeys> keys_;
  std::atomic<bool> looked_{false}, added_{false}, is_settled_{false}, is_ended_{false};
  std::uint32_t next_array_ = 0;  // all chunks and samples before these are in the cache
  std::uint64_t next_chunk_ = 0, next_sample_ = 0;
  bool was_copied_ = false;  // a look after end() found all entries
};

}  // namespace penstock
