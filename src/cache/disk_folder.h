// The files of the tier on disk, and the rules by which files of an earlier run are used again.
//
// The files lie in a subfolder of the user's folder. The name of the subfolder contains the version of the
// format.
//   index     the table of entries, which all processes map; each process that has it open holds a lock on it
//   data      the entries, at the offsets that the table gives
//   contents  descriptions of the cached data for people, one line each
// All versions use these names, so that each version can remove the files of the others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cache/shared/descriptor.h"
#include "cache/disk_tier.h"
#include "cache/shared/shared_file.h"

namespace penstock {

inline constexpr const char* kIndexFile = "index";
inline constexpr const char* kDataFile = "data";
inline constexpr const char* kContentsFile = "contents";

// The subfolder of this version.
std::string disk_folder_path(const std::string& folder);
// The existing subfolders of all versions.
Result<std::vector<std::string>> disk_folder_paths(const std::string& folder);

struct DiskFolder {
  std::string path;
  std::unique_ptr<SharedFile> index;  // its memory is an EntryTable
  Descriptor data;
};
// Opens the files of an earlier run, or makes new ones if those are useless and no other process uses them.
// Fails if the folder cannot be written or is in use by another machine.
Result<DiskFolder> open_disk_folder(const DiskTierOptions& options);

}  // namespace penstock
