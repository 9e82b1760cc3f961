// The destination of packing: finds the store, and cleans up what killed runs left.
#pragma once

#include <string>
#include <vector>

#include "pack/shard_output.h"

namespace penstock {

Result<PackFolder> open_pack_folder(const std::string& destination, const std::vector<std::string>& headers,
                                    std::string name);

// Removes temporary files of this data set that a process of this machine left which exists no more, once they are ten
// minutes old. Other stores have no temporary files that can be seen. Failures are ignored: the files do no harm.
void remove_abandoned_files(const PackFolder& folder);

// Writes the manifest. Returns its key.
Result<std::string> write_manifest(const PackFolder& folder, const PackManifest& manifest);

}  // namespace penstock
