// The list of files that make a data set: found by walking folders in parallel, kept between runs.
//
// A kept index is valid while no folder in it has changed (a folder's time changes when a file
// appears, goes or is renamed). A file rewritten in place does not show there; readers compare
// each file with what the index says of it and drop an index that has gone stale.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/result.h"
#include "penstock/source.h"
#include "store/store.h"

namespace penstock {

enum class FileKind : std::uint8_t { kImage, kNpy };

struct FileIndex {
  struct Folder {
    std::string path;  // below the root; "" is the root
    std::int64_t modified_ns = 0;
  };
  struct File {
    std::uint32_t folder = 0;
    std::uint32_t name_length = 0;
    std::uint64_t name_offset = 0;  // in `names`
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
  };

  FileKind kind = FileKind::kImage;
  std::vector<Folder> folders;  // sorted by path
  std::vector<File> files;      // sorted by folder, then name
  std::string names;
  LeftOutFiles left_out;
  bool was_kept = false;

  std::string_view name(const File& file) const {
    return std::string_view(names).substr(file.name_offset, file.name_length);
  }
  // Path below the root: "cats/7.jpg".
  std::string relative_path(const File& file) const;
};

// Folders that belong to no data set: hidden ones, and what macOS adds to archives.
bool is_passed_over(std::string_view folder_name);

// Which kind a name belongs to, by its ending (any case); false where it is neither.
bool kind_of_name(std::string_view name, FileKind& kind);

struct ScanOptions {
  std::function<bool(std::uint64_t files)> progress;  // false stops
};

// All image and .npy files below `root`; fails where there are none, or both kinds and `wanted`
// (empty: whichever there is) does not say which.
Result<FileIndex> scan_folder(const Store& store, const std::string& root, const std::string& wanted,
                              const ScanOptions& options);

// Bytes of an index on disk, closed by a CRC32C; and back. A damaged or foreign one is an error, never
// half an index; one that another version wrote is kUnsupported.
std::vector<std::byte> serialise_index(const FileIndex& index, const std::string& root);
Result<FileIndex> parse_index(ConstBytes bytes, const std::string& root);

// Is every folder as old as the index says?
bool index_fits(const Store& store, const std::string& root, const FileIndex& index);

}  // namespace penstock
