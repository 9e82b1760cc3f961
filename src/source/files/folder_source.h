// A source whose samples are files: images or .npy, in class folders or flat.
#pragma once

#include "penstock/source.h"
#include "source/index/file_index.h"

namespace penstock {

struct FolderSourceOptions {
  std::string uri;         // what the user wrote
  std::string root;        // absolute
  std::string masks_root;  // "": none
  std::string saved_index_path;   // "": not kept
  std::function<void(const std::string&)> warn;
  // Given: the labels of the files, which do not follow from folders then.
  std::vector<std::int64_t> labels = {};
  std::vector<std::string> classes = {};
};

Result<SourcePtr> make_folder_source(std::shared_ptr<const Store> store, FileIndex index,
                                     FolderSourceOptions options);

}  // namespace penstock
