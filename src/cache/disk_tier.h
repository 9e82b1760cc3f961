// The tier on disk: a folder that the processes of one machine share, and that later runs find again.
//
// Nothing on a disk is trusted: an entry whose key or CRC-32C does not match counts as missing and is made
// again. So entries that a crash of the machine left half written do no harm. A process may be killed at any
// moment: an entry exists only once it is written and published.
#pragma once

#include "cache/tier.h"

namespace penstock {

struct DiskTierOptions {
  std::string folder;
  std::uint64_t capacity_bytes = 0;
  std::uint64_t expected_entries = 0;  // 0: unknown
  Warn warn;
};

// Fails if the folder cannot be written, or if another machine uses it. Once the disk is full or fails, the
// tier adds no more entries, but still serves those it has.
Result<CacheTierPtr> open_disk_tier(const DiskTierOptions& options);

}  // namespace penstock
