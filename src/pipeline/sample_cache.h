// What a loader keeps of its samples: which entry of the cache is whose, and whether it still is what a
// new look at the data would give. Shared by the workers; thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/stats.h"
#include "cache/admission.h"
#include "cache/tiered_cache.h"
#include "penstock/source.h"
#include "pipeline/sample_keys.h"
#include "pipeline/wanted_samples.h"
#include "plan/chunk_id.h"
#include "store/store.h"
#include "transform/program.h"

namespace penstock {

struct SamplePlan;

class SampleCache {
 public:
  // `form`: kEncoded or kDecoded.
  SampleCache(std::shared_ptr<const TieredCache> cache, const SamplePlan& plan, CacheForm form);
  ~SampleCache();
  SampleCache(const SampleCache&) = delete;

  // Pixels are kept, of all others the bytes as they are stored. `field`: of the plan.
  bool keeps_pixels(std::size_t field) const { return keys_->keeps_pixels(field); }
  bool keeps_decoded_chunks() const { return form_ == CacheForm::kDecoded; }
  CacheForm form() const { return form_; }

  // What an entry is of.
  struct Subject {
    EntryKey key;
    const Store& store;
    std::string object;
    std::optional<ObjectVersion> indexed;  // as the index knows it, and as it is unless the index is old
    bool is_asked_for;                     // ... which has to be looked at
  };
  Subject subject(std::size_t field, const Extent& extent) const;
  Subject subject(const ChunkId& chunk, const std::string& object) const;

  struct Value {
    EntryHead head;
    ConstBytes bytes;                  // without the head
    std::shared_ptr<const void> held;  // what keeps them there
    std::optional<ArraySpec> spec() const;
  };
  std::optional<Value> find(const Subject& subject, const CacheTier::Room& room,
                            CacheCounters& counters) const;

  // What was found is no such entry as there should be.
  void withdraw(const Subject& subject) const { cache_->withdraw(subject.key); }

  // `fill` writes the bytes and says in the head what they are; it is called where there is room. `version`:
  // of the object that they are from. True: it is in.
  using Fill = std::function<Status(MutableBytes bytes, EntryHead& head)>;
  Result<bool> add(const Subject& subject, const ObjectVersion& version, std::uint64_t bytes,
                   const Fill& fill, const CacheTier::Room& room) const;

  // An epoch of so many samples begins.
  void start_epoch(std::uint64_t samples);
  bool has_room() const { return cache_->free_bytes() > sizeof(EntryHead); }
  // Whether pixels are to be kept, of which this share is decoded anyway.
  bool wants_pixels(double share, std::uint64_t bytes) const;

  // Whether nothing of the sample's fields has to be read.
  bool has_sample(std::uint64_t sample) const;
  // Tells the tiers which entries are wanted soon; no use where there is only memory.
  bool is_on_disk() const { return cache_->options().disk_bytes > 0; }
  void expect_sample(std::uint64_t sample) const;
  void expect(const ChunkId& chunk) const { cache_->expect(keys_->of(chunk)); }
  bool has(const ChunkId& chunk) const { return cache_->has(keys_->of(chunk)); }

  std::vector<TierState> tiers() const { return cache_->tiers(); }

 private:
  bool is_current(const Subject& subject, const EntryHead& head, std::atomic<std::uint32_t>& checked) const;

  const std::shared_ptr<const TieredCache> cache_;
  const SourcePtr source_;
  const CacheForm form_;
  const std::uint32_t own_mark_;  // on entries that were compared with their objects since this was made
  const std::shared_ptr<const SampleKeys> keys_;
  const std::shared_ptr<WantedSamples> wanted_;
  mutable Admission admission_;
};

// In nanoseconds, for EntryHead::cost_ns.
inline std::uint64_t cost_since(Clock::time_point began) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - began).count());
}

// A worker's own, for an entry that is not in memory or not yet.
CacheTier::Room room_for_kept(Scratch& scratch);

}  // namespace penstock
