// A Store of local files, which are read with preadv.
//
// Keys are paths, absolute or relative to the current folder. The store holds no descriptors itself; an open Object
// holds one. Reads are not mapped into memory: a mapped file that shrinks kills the process with SIGBUS, while a short
// read is an error that can be reported. Reads that fail with EIO or ESTALE are tried again a few times.
// Thread-safe.
#pragma once

#include <atomic>

#include "store/file/file_calls.h"
#include "store/store.h"

namespace penstock {

class FileStore final : public Store {
 public:
  explicit FileStore(std::shared_ptr<const FileCalls> calls = std::make_shared<FileCalls>())
      : calls_(std::move(calls)) {}

  using Store::create;

  StoreTraits traits() const override;
  Result<std::unique_ptr<Object>> open(const std::string& key) const override;
  Result<ObjectVersion> stat(const std::string& key) const override;
  Result<KeyKind> kind_of(const std::string& key) const override;
  Status list_pages(const std::string& key, const ListOptions& options, const TakePage& take) const override;
  std::optional<FolderIdentity> identity_of(const std::string& key) const override;
  Result<std::unique_ptr<ObjectWriter>> create(const std::string& key, const CreateOptions& options) const override;

 private:
  class TreeListing;

  // The entries right below the folder `path`, in the order of their keys; `below` is put before their names.
  Result<Listing> list_folder(const std::string& path, const std::string& below, const ListOptions& options) const;
  // Whether a file keeps its inode number. File systems in user space give it another one whenever they look it
  // up again. `name` is the file in the folder `path`; empty: `path` is the file.
  bool has_lasting_inodes(dev_t device, std::string_view path, std::string_view name = {}) const;

  std::shared_ptr<const FileCalls> calls_;
  // The device that was examined last, with each of the two answers.
  mutable std::atomic<dev_t> lasting_device_ = ~dev_t{0}, passing_device_ = ~dev_t{0};
};

}  // namespace penstock
