// The files of the tier on disk, and when what an earlier run left in them is used.
//
// They are in a folder of their own inside the user's, which is named for the version of their format:
//   index     the table of entries, mapped by all; who has it open holds a lock on it
//   data      the entries, at the offsets that the table gives
//   contents  what is cached, in words, a line each
// All versions have these names, so that each can remove the others.
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

// Of this version, inside the user's folder.
std::string disk_folder_path(const std::string& folder);
// Of all versions: those that are there.
Result<std::vector<std::string>> disk_folder_paths(const std::string& folder);

struct DiskFolder {
  std::string path;
  std::unique_ptr<SharedFile> index;  // an EntryTable
  Descriptor data;
};
// What is there is kept where it can be used, and made anew where it cannot and nobody else has it.
Result<DiskFolder> open_disk_folder(const DiskTierOptions& options);

}  // namespace penstock
