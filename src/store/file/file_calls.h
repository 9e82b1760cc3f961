// The system calls that a FileStore makes, so that tests can interrupt, shorten and fail each of them.
//
// Each function is the system call of its name: it returns -1 and sets errno if it fails. Thread-safe.
#pragma once

#include <sys/stat.h>
#include <sys/uio.h>

#include "base/bytes.h"

namespace penstock {

class FileCalls {
 public:
  virtual ~FileCalls() = default;

  virtual int open(const char* path) const;  // for reading; also opens folders, for fsync()
  virtual int fstat(int descriptor, struct stat* out) const;
  virtual ssize_t preadv(int descriptor, const iovec* parts, int count, off_t offset) const;
  virtual int close(int descriptor) const;

  virtual int create(const char* path, mode_t mode) const;  // for writing; fails if the file exists
  virtual ssize_t write(int descriptor, ConstBytes bytes) const;
  virtual int fsync(int descriptor) const;
  virtual int rename(const char* from, const char* to) const;
  virtual int unlink(const char* path) const;
};

}  // namespace penstock
