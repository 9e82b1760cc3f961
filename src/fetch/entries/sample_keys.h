// What the entries of a loader are called in the cache. Immutable; shared by the loader and by whoever has to
// know whether all its entries are in.
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

  // Of a field of the plan, and of a chunk.
  EntryKey of(std::size_t field, const Extent& extent) const;
  EntryKey of(const ChunkId& chunk) const;

  bool keeps_pixels(std::size_t field) const { return fields_[field].keeps_pixels; }
  // Entries with pixels of each sample. Views whose first steps are alike have one together.
  std::uint64_t pictures_per_sample() const;

  using Look = std::function<bool(const EntryKey&)>;
  // Shows the keys of what is kept of a sample besides chunks, until `look` says no. False: it did, or the
  // sample has no place in the source.
  bool every_key(std::uint64_t sample, const Look& look) const;
  // Shows where these stand: fields of the plan.
  void every_extent(std::uint64_t sample,
                    const std::function<void(std::size_t field, const Extent&)>& look) const;
  const Source& source() const { return *source_; }

 private:
  struct Field {
    int source_field = -1;  // -1: not kept
    bool keeps_pixels = false;
    EntryKey key;  // of the steps
  };
  EntryKey key_of(const Field& field, const Extent& extent) const;

  const SourcePtr source_;
  const std::string folder_;          // that paths are relative to
  std::vector<Field> fields_;         // of the plan
  std::vector<EntryKey> array_keys_;  // of each chunked array
};

// A number for all that a loader's entries depend on, but for the form: where two have the same, they share.
std::uint64_t cache_identity(const SamplePlan& plan);

}  // namespace penstock
