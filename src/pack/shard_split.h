// Which samples go into which shard: a pure function of the order, the stored sizes and the options. So all parts of a
// data set agree on it without a word between them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "penstock/result.h"
#include "penstock/source.h"

namespace penstock {

struct ShardSplit {
  std::vector<std::uint64_t> first_positions;  // one per shard, and the number of samples at the end

  std::uint64_t shards() const { return first_positions.size() - 1; }
  std::uint64_t samples() const { return first_positions.back(); }
};

// The sample at a position of the packed data set.
class PackOrder {
 public:
  PackOrder(std::uint64_t samples, std::optional<std::uint64_t> shuffle_seed);
  std::uint64_t sample_at(std::uint64_t position) const;

 private:
  std::shared_ptr<const class Permutation> permutation_;  // nullptr: the order of the source
};

// `overhead_bytes` is what the format adds to each sample; where `row_bytes` is not 0, each sample takes so many bytes,
// whatever it takes in the source. A shard has at least one sample.
Result<ShardSplit> split_into_shards(const Source& source, const PackOrder& order, std::uint64_t shard_bytes,
                                     std::uint64_t overhead_bytes, std::uint64_t row_bytes);

// The shards of a part are neighbours, so that it reads neighbouring samples.
struct ShardRange {
  std::uint64_t first = 0, last = 0;
};
ShardRange shards_of_part(std::uint64_t shards, std::uint32_t part, std::uint32_t parts);

}  // namespace penstock
