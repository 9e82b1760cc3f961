// placeholder
#pragma once
#include "cache/tier.h"
namespace penstock {
struct DiskTierOptions {
  std::string folder;
  std::uint64_t capacity_bytes = 0, expected_entries = 0;
  Warn warn;
};
inline Result<CacheTierPtr> open_disk_tier(const DiskTierOptions&) {
  return fail(ErrorCode::kUnsupported, "not yet");
}
}  // namespace penstock
