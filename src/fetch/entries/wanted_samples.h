// The entries that a loader keeps, as the copying to disk asks about them: are they all in?
#pragma once

#include <atomic>
#include <memory>

#include "cache/tier_copy.h"
#include "fetch/entries/sample_keys.h"

namespace penstock {

class WantedSamples final : public WantedEntries {
 public:
  explicit WantedSamples(std::shared_ptr<const SampleKeys> keys) : keys_(std::move(keys)) {}

  // From any thread.
  void note_looked() { set(looked_); }
  void note_added() { set(added_); }
  // An epoch in which entries were looked for and none was added: those that are missing will not come. They
  // are bad samples, or no sampler chooses them, or there is no room.
  void start_epoch() {
    const bool looked = looked_.exchange(false), added = added_.exchange(false);
    if (looked && !added) is_settled_ = true;
  }
  // The loader is closed.
  void end() { is_ended_ = true; }

  State look(const Has& has, const std::stop_token& stop) override;

 private:
  // Many threads do so for every sample: only the first writes.
  static void set(std::atomic<bool>& flag) {
    if (!flag.load(std::memory_order_relaxed)) flag.store(true, std::memory_order_relaxed);
  }
  bool are_all_in(const Has& has, const std::stop_token& stop);

  const std::shared_ptr<const SampleKeys> keys_;
  std::atomic<bool> looked_{false}, added_{false}, is_settled_{false}, is_ended_{false};
  std::uint32_t next_array_ = 0;  // all before these are in
  std::uint64_t next_chunk_ = 0, next_sample_ = 0;
  bool was_copied_ = false;  // after the end
};

}  // namespace penstock
