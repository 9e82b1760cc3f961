// A source whose samples are files: images or .npy files, in one folder per class or all in one folder.
#pragma once

#include "penstock/source.h"
#include "source/index/file_index.h"

namespace penstock {

struct FolderSourceOptions {
  std::string uri;   // as the user wrote it, for messages
  std::string root;  // absolute
  std::string masks_root;        // "": none
  std::string saved_index_path;  // "": the index is not saved
  std::function<void(const std::string&)> warn;
  // Labels of the files, if the user gave them; they replace those that follow from the folders.
  std::vector<std::int64_t> labels = {};
  std::vector<std::string> classes = {};
  std::shared_ptr<const Store> masks_store = {};  // nullptr: the store of the images
};

// Sets the folder of masks that the options of the user name, and its store.
Status find_masks_folder(const Store& images, const OpenOptions& given, FolderSourceOptions& options);

Result<SourcePtr> make_folder_source(std::shared_ptr<const Store> store, FileIndex index,
                                     FolderSourceOptions options);

}  // namespace penstock
