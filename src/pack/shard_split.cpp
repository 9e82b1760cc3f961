#include "pack/shard_split.h"

#include "order/permutation.h"
#include "penstock/interruption.h"

namespace penstock {

PackOrder::PackOrder(std::uint64_t samples, std::optional<std::uint64_t> shuffle_seed) {
  if (shuffle_seed) permutation_ = std::make_shared<const Permutation>(samples, *shuffle_seed);
}

std::uint64_t PackOrder::sample_at(std::uint64_t position) const {
  return permutation_ ? (*permutation_)(position) : position;
}

Result<ShardSplit> split_into_shards(const Source& source, const PackOrder& order, std::uint64_t shard_bytes,
                                     std::uint64_t overhead_bytes, std::uint64_t row_bytes) {
  ShardSplit split;
  std::uint64_t bytes = 0;
  InterruptionCheck check;
  for (std::uint64_t position = 0; position < source.size(); ++position) {
    PENSTOCK_CHECK(check(source.uri()));
    const std::uint64_t stored = row_bytes != 0 ? row_bytes : source.stored_bytes_of(order.sample_at(position));
    const std::uint64_t more = stored + overhead_bytes;
    if (position == 0 || more > shard_bytes || bytes > shard_bytes - more) {
      split.first_positions.push_back(position);
      bytes = 0;
    }
    bytes += more;
  }
  split.first_positions.push_back(source.size());
  return split;
}

ShardRange shards_of_part(std::uint64_t shards, std::uint32_t part, std::uint32_t parts) {
  // Without the product of both numbers, which might not fit.
  const auto begin = [&](std::uint64_t number) { return shards / parts * number + shards % parts * number / parts; };
  return {begin(part), begin(std::uint64_t{part} + 1)};
}

}  // namespace penstock
