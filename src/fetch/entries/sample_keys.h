// The keys of a loader's cache entries. Immutable; shared by the loader and by the copying of entries to disk, which
// must know whether all of them are in the cache.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cache/shared/entry.h"
#include "penstock/cache.h"
#include "penstock/source.h"
#include "plan/chunk_id.h"

namespace penstock {

struct SamplePlan;

class SampleKeys {
 public:
  // `form`: kEncoded or kDecoded.
  SampleKeys(const SamplePlan& plan, CacheForm form);

  // Return the key of a field of the plan, and of a chunk.
  EntryKey of(std::size_t field, const Extent& extent) const;
  EntryKey of(const ChunkId& chunk) const;

  bool keeps_pixels(std::size_t field) const { return fields_[field].keeps_pixels; }
  // Number of entries with decoded pixels per sample. Views whose first steps are equal share one entry.
  std::uint64_t pictures_per_sample() const;

  using Look = std::function<bool(const EntryKey&)>;
  // Calls `look` with the key of each entry of a sample, without its chunks, until it returns false. Returns false if
  // that happened, or if the source cannot locate the sample.
  bool every_key(std::uint64_t sample, const Look& look) const;
  // Calls `look` with the number in the plan and the extent of each cached field.
  void every_extent(std::uint64_t sample,
                    const std::function<void(std::size_t field, const Extent&)>& look) const;
  const Source& source() const { return *source_; }

 private:
  struct Field {
    int source_field = -1;  // -1: not cached
    bool keeps_pixels = false;
    EntryKey key;  // hash of the steps and the type
  };
  EntryKey key_of(const Field& field, const Extent& extent) const;

  const SourcePtr source_;
  const std::string folder_;          // the folder that relative paths start from
  std::vector<Field> fields_;         // one per field of the plan
  std::vector<EntryKey> array_keys_;  // one per chunked array
};

// Returns a hash of everything that a loader's entries depend on, except their form. Loaders with the same hash share
// their entries.
std::uint64_t cache_identity(const SamplePlan& plan);

}  // namespace penstock
