// Compares the shards of an MDS data set with the hashes in its index, and every sample with what was verified then.
//
// A hash covers a whole shard, but samples are read one by one. Therefore a shard is read once, as a whole, when the
// first of its samples is read: its hash is compared, and the CRC32C of each sample is noted on the way. From then on
// every read of a sample is compared with its CRC32C. So no byte is delivered that a hash does not vouch for, in any
// run and in any epoch (docs/decisions/0040).
//
// Thread-safe. Workers that want samples of one shard wait for the one that verifies it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/guarded.h"
#include "source/index/record_index.h"
#include "source/mds/mds_index.h"
#include "store/store.h"

namespace penstock {

class VerifiedShards {
 public:
  // Both are borrowed, as is the index of `check`. Fails with kUnsupported where a shard has hashes and none is known.
  static Result<std::unique_ptr<VerifiedShards>> make(const Store& store, const MdsIndex& mds);

  bool has_hashes(std::size_t shard) const { return shards_[shard]->hash.has_value(); }
  bool has_any() const;

  // Whether the bytes are those of the sample in the verified shard. `charge` is called before a shard is read.
  Status check(const RecordIndex& index, std::size_t shard, std::uint64_t sample, ConstBytes stored,
               const std::function<Status(std::uint64_t bytes)>& charge) const;

 private:
  struct Shard {
    // The hash of the raw file, or else of the file as it is stored. Empty: the index has none.
    std::optional<MdsHash> hash;
    bool hash_is_of_stored = false;
    Mutex mutex;
    bool is_verified PENSTOCK_GUARDED_BY(mutex) = false;
    std::optional<Error> damage PENSTOCK_GUARDED_BY(mutex);
    std::vector<std::uint32_t> checksums PENSTOCK_GUARDED_BY(mutex);  // of its samples
  };

  explicit VerifiedShards(const Store& store) : store_(store) {}
  Status verify(const RecordIndex& index, std::size_t number, Shard& shard) const PENSTOCK_REQUIRES(shard.mutex);

  const Store& store_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace penstock
