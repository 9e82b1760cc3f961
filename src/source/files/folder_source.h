// A source whose samples are files: images or .npy files, in one folder per class or all in one folder.
#pragma once

#include "penstock/source.h"
#include "source/index/file_index.h"

namespace penstock {

struct FolderSourceOptions {
  std::string uri;  // as the user wrote it
  std::string root;        // absolute
  std::string masks_root;  // "": none
  std::string saved_index_path;  // "": the index is not saved
  std::function<void(const std::string&)> warn;
  // Labels of the files, if the user gave them; they replace those that follow from the folders.
  std::vector<std::int64_t> labels = {};
  std::vector<std::string> classes = {};
};

Result<SourcePtr> make_folder_source(std::shared_ptr<const Store> store, FileIndex index,
                                     FolderSourceOptions options);

}  // namespace penstock
