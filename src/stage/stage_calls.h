// The system calls by which copies are written, so that tests can fail each of them.
//
// Each function is the system call of its name: it returns -1 and sets errno if it fails. Thread-safe.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

class StageCalls {
 public:
  virtual ~StageCalls() = default;

  virtual int fallocate(int descriptor, std::uint64_t bytes) const;
  virtual std::int64_t pwrite(int descriptor, ConstBytes bytes, std::uint64_t offset) const;
  virtual int fsync(int descriptor) const;
  virtual int syncfs(int descriptor) const;
  virtual int rename(const char* from, const char* to) const;
  // Bytes that this user may still write to the file system of `folder`; -1: not known.
  virtual std::int64_t free_bytes(const char* folder) const;
};

// Makes an error of errno: kIo for a full disk, unlike reading, and the codes of other files.
std::unexpected<Error> stage_failure(const char* action, const std::string& path);

// Gives the file its full size, and blocks for it where the file system can do that.
Status allocate_file(const StageCalls& calls, int descriptor, std::uint64_t bytes, const std::string& path);
Status write_at(const StageCalls& calls, int descriptor, ConstBytes bytes, std::uint64_t offset,
                const std::string& path);
// Fails with kTruncated where the file ends before.
Status read_at(int descriptor, MutableBytes bytes, std::uint64_t offset, const std::string& path);
// Makes new names in the folder durable.
Status sync_folder(const StageCalls& calls, const std::string& folder);

}  // namespace penstock
