// The cache entries of a loader's samples: which entry belongs to which field or chunk, and whether it still matches
// the stored object. Shared by the workers; thread-safe.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/stats.h"
#include "cache/admission.h"
#include "cache/tiered_cache.h"
#include "penstock/source.h"
#include "fetch/entries/object_checks.h"
#include "fetch/entries/sample_keys.h"
#include "fetch/entries/wanted_samples.h"
#include "plan/chunk_id.h"
#include "store/store.h"
#include "transform/program.h"

namespace penstock {

class ReadAhead;
struct SamplePlan;

class SampleCache {
 public:
  // `form`: kEncoded or kDecoded.
  SampleCache(std::shared_ptr<const TieredCache> cache, const SamplePlan& plan, CacheForm form);
  ~SampleCache();
  SampleCache(const SampleCache&) = delete;

  // Whether decoded pixels of this field of the plan are cached. All other fields are cached as they are stored.
  bool keeps_pixels(std::size_t field) const { return keys_->keeps_pixels(field); }
  bool keeps_decoded_chunks() const { return form_ == CacheForm::kDecoded; }
  CacheForm form() const { return form_; }

  // The origin of an entry. It must be built before the object is read.
  struct Subject {
    EntryKey key;
    const Store& store;
    std::string object;
    std::optional<ObjectVersion> indexed;  // the version that an entry must be made from
    bool is_shared = false;                // other entries are made from the same object
    bool is_remote = false;
    std::uint32_t since = 0;  // the object must have been looked at after this moment
  };
  Subject subject(std::size_t field, const Extent& extent) const;
  Subject subject(const ChunkId& chunk) const;

  struct Value {
    EntryHead head;
    ConstBytes bytes;                  // without the head
    std::shared_ptr<const void> held;  // owns the bytes
    std::optional<ArraySpec> spec() const;
  };
  // Does not find an entry that was made from another version of the object than the present one. Servers are asked for
  // versions through `ahead`, so that cancelling the epoch cancels the request; if it is nullptr, this waits.
  std::optional<Value> find(const Subject& subject, const CacheTier::Allocate& allocate, CacheCounters& counters,
                            ReadAhead* ahead) const;

  // Removes an entry that does not match its key.
  void withdraw(const Subject& subject) const { cache_->withdraw(subject.key); }

  // `fill` writes the bytes and describes them in the head. It is called only if a tier has space. `version` is that of
  // the object that the bytes came from. Returns true if the entry was added.
  using Fill = std::function<Status(MutableBytes bytes, EntryHead& head)>;
  Result<bool> add(const Subject& subject, const ObjectVersion& version, std::uint64_t bytes,
                   const Fill& fill, const CacheTier::Allocate& allocate) const;

  // Called when an epoch begins that has this many samples.
  void start_epoch(std::uint64_t samples);
  bool has_room() const { return cache_->free_bytes() > sizeof(EntryHead); }
  // Whether pixels should be cached, given the share of them that is decoded anyway.
  bool wants_pixels(double share, std::uint64_t bytes) const;

  // Whether all fields of the sample are cached, so that nothing is read unless an object has changed.
  bool has_sample(std::uint64_t sample) const;
  // The versions that servers must be asked for before the entries of the sample, or of the chunk, can be used.
  std::vector<ObjectRead> questions(std::uint64_t sample) const;
  std::optional<ObjectRead> question(const ChunkId& chunk) const;
  // Tells the tiers which entries will be looked up soon. Only the disk tier makes use of it.
  bool is_on_disk() const { return cache_->options().disk_bytes > 0; }
  void expect_sample(std::uint64_t sample) const;
  void expect(const ChunkId& chunk) const { cache_->expect(keys_->of(chunk)); }
  bool has(const ChunkId& chunk) const { return is_usable(keys_->of(chunk)); }

  std::vector<TierState> tiers() const { return cache_->tiers(); }

 private:
  enum class Freshness : std::uint8_t {
    kCurrent,
    kUnknown,  // the version of the object could not be found out
    kStale,
  };
  Freshness freshness(const Subject& subject, const EntryHead& head, const EntryMark& mark,
                      ReadAhead* ahead) const;
  std::optional<ObjectRead> question(const Subject& subject) const;
  bool is_usable(const EntryKey& key) const;
  bool revalidates() const { return cache_->options().revalidate; }
  void note_no_versions() const;

  const std::shared_ptr<const TieredCache> cache_;
  const SourcePtr source_;
  const CacheForm form_;
  const bool is_remote_;           // at least one store of the source is remote
  const std::uint32_t opened_at_;  // the moment when this object was made
  std::atomic<std::uint32_t> epoch_began_at_;
  mutable std::atomic<bool> has_no_versions_ = false;  // a server that the loader reads from sends none
  mutable ObjectChecks checks_;
  const std::shared_ptr<const SampleKeys> keys_;
  const std::shared_ptr<WantedSamples> wanted_;
  mutable Admission admission_;
};

// Records the version of the object that an entry is made from.
inline void set_version(EntryHead& head, const ObjectVersion& version) {
  head.object_bytes = version.size;
  head.modified_ns = version.modified_ns;
  head.stamp = version.stamp;
}

inline ObjectVersion version_of(const EntryHead& head) {
  return {head.object_bytes, head.modified_ns, head.stamp};
}

// Records that the bytes of the entry are the elements of an array.
inline void describe_array(EntryHead& head, const ArraySpec& spec) {
  head.has_spec = 1;
  head.dtype = spec.dtype;
  head.rank = static_cast<std::uint8_t>(spec.shape.size());
  std::ranges::copy(spec.shape, head.shape.begin());
}

// Returns nanoseconds, for EntryHead::cost_ns.
inline std::uint64_t cost_since(Clock::time_point began) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - began).count());
}

// Returns an allocator of one worker's scratch, for entries that must be read from disk or decompressed.
CacheTier::Allocate cached_value_allocator(Scratch& scratch);

}  // namespace penstock
