// Local files, read with preadv.
//
// Why not mmap: a mapped file that shrinks kills the process with SIGBUS; a short read is an
// error we can name.
#pragma once

#include <sys/stat.h>
#include <sys/uio.h>

#include <atomic>

#include "store/store.h"

namespace penstock {

// The system calls a FileStore makes, so that tests can interrupt, shorten and fail them.
class FileCalls {
 public:
  virtual ~FileCalls() = default;
  virtual int open(const char* path) const;
  virtual int fstat(int descriptor, struct stat* out) const;
  virtual ssize_t preadv(int descriptor, const iovec* parts, int count, off_t offset) const;
  virtual int close(int descriptor) const;
};

class FileStore final : public Store {
 public:
  explicit FileStore(std::shared_ptr<const FileCalls> calls = std::make_shared<FileCalls>())
      : calls_(std::move(calls)) {}

  Result<std::unique_ptr<Object>> open(const std::string& key) const override;
  Result<ObjectVersion> stat(const std::string& key) const override;
  Result<std::vector<FolderEntry>> list(const std::string& key) const override;
  std::optional<FolderIdentity> identity_of(const std::string& key) const override;

 private:
  // File systems in user space give a file another inode number whenever they look it up again.
  bool has_lasting_inodes(dev_t device, const std::string& path) const;

  std::shared_ptr<const FileCalls> calls_;
  // The devices that were looked at last.
  mutable std::atomic<dev_t> lasting_device_ = ~dev_t{0}, passing_device_ = ~dev_t{0};
};

}  // namespace penstock
