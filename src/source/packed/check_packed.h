// Verifies the files of a packed data set as a whole: the manifest, the size and checksum of every shard, and every index.
//
// Reading all samples does not notice everything: nothing looks at the padding of a tar, or at a file that the manifest has
// and the index has not.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "penstock/result.h"
#include "store/store.h"

namespace penstock {

struct PackedCheck {
  std::uint64_t files = 0, bytes = 0;
  std::vector<Error> bad;  // one per file that is not what the manifest says
};

// `folder` has a manifest. Errors of single files are listed; it fails if it is interrupted, or if the manifest cannot be
// read. `progress` is called with the bytes so far, and stops the check by returning false.
Result<PackedCheck> check_packed(const Store& store, const std::string& folder,
                                 const std::function<bool(std::uint64_t bytes)>& progress = {});

}  // namespace penstock
