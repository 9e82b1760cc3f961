// The list of files that make up a data set. It is found by walking folders in parallel and saved between runs.
//
// A saved index is valid as long as the modification time of every folder in it is unchanged, because that time
// changes when a file is added, removed or renamed (StoreTraits::has_folder_times; without it, none is saved). It does not change when a file is rewritten in place. Readers
// therefore compare each file with its entry in the index and discard an outdated index.
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
    std::string path;  // path below the root; "" is the root
    std::int64_t modified_ns = 0;
  };
  struct File {
    std::uint32_t folder = 0;
    std::uint32_t name_length = 0;
    std::uint64_t name_offset = 0;  // position in `names`
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
  };

  FileKind kind = FileKind::kImage;
  std::vector<Folder> folders;  // sorted by path
  std::vector<File> files;      // sorted by folder, then name
  std::string names;
  LeftOutFiles left_out;
  bool was_saved = false;

  std::string_view name(const File& file) const {
    return std::string_view(names).substr(file.name_offset, file.name_length);
  }
  // Path below the root: "cats/7.jpg".
  std::string relative_path(const File& file) const;
};

// Whether the folder belongs to no data set: hidden folders, and those that macOS adds to archives.
bool is_passed_over(std::string_view folder_name);

// Sets the kind of a file by the ending of its name, in any case. Returns false where it is neither an image nor a
// .npy file.
bool kind_of_name(std::string_view name, FileKind& kind);

struct ScanOptions {
  // Called with the number of files so far; returning false stops the walk.
  std::function<bool(std::uint64_t files)> progress;
};

// Finds all image and .npy files below `root`, in any store that can list. The order depends on the keys alone.
//
// Folders are listed one by one and in parallel, which object stores answer faster than one listing of all objects: only
// a listing of its own tells where the next page of it begins. What is found becomes the index, so it is not charged to
// the memory of the opening (docs/decisions/0023).
// `wanted` names one of the two kinds; if it is empty, the folder
// decides. Fails where there are no such files, and where there are both kinds and `wanted` is empty.
Result<FileIndex> scan_folder(const Store& store, const std::string& root, const std::string& wanted,
                              const ScanOptions& options);

// Converts an index to the bytes of a file, which end with a CRC32C, and back. Parsing fails for a damaged or
// foreign file and never returns part of an index; it fails with kUnsupported for the file of another version.
std::vector<std::byte> serialise_index(const FileIndex& index, const std::string& root);
Result<FileIndex> parse_index(ConstBytes bytes, const std::string& root);

// Whether every folder still has the modification time that the index recorded. The store must have such times.
bool index_fits(const Store& store, const std::string& root, const FileIndex& index);

}  // namespace penstock
