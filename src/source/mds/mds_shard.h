// The table at the beginning of an MDS shard: the number of samples and the offset of each.
#pragma once

#include "source/mds/mds_index.h"
#include "source/records/forward_reader.h"
#include "source/index/record_index.h"

namespace penstock {

// The number of bytes of the table of a shard with so many samples.
constexpr std::uint64_t mds_table_bytes(std::uint64_t samples) { return 4 * (samples + 2); }

// Reads the table and nothing behind it, and adds the samples to `out`. Fails with kCorrupt where the table does not
// agree with the index: with another number of samples, or offsets that do not rise up to the size of the raw file.
Status scan_mds_shard(ForwardReader& reader, const std::string& path, const MdsShard& shard, ShardContents& out);

}  // namespace penstock
