// The tier on disk: a folder that processes of one machine share, and that the next run finds again.
//
// Nothing on a disk is trusted: an entry whose key or CRC-32C is not as it should be is as if it were not
// there, and is made again. So what a crash of the machine left half written does no harm. A process may
// be killed at any moment: an entry is there once it is written and published.
#pragma once

#include "cache/tier.h"

namespace penstock {

struct DiskTierOptions {
  std::string folder;
  std::uint64_t capacity_bytes = 0;
  std::uint64_t expected_entries = 0;  // 0: not known
  Warn warn;
};

// Fails where the folder cannot be written, or where another machine has it in use. Once the disk is full,
// or fails, nothing is added any more; what is there is read on.
Result<CacheTierPtr> open_disk_tier(const DiskTierOptions& options);

}  // namespace penstock
