// System calls of staging that fail on demand: those whose errno is set, writes after some good ones.
//
// Thread-safe, but for `free`, which is set before use.
#pragma once

#include <atomic>
#include <cerrno>

#include "stage/stage_calls.h"

namespace penstock {

struct FailingCalls final : StageCalls {
  mutable std::atomic<int> fallocate_errno = 0, pwrite_errno = 0, fsync_errno = 0, rename_errno = 0;
  mutable std::atomic<int> good_writes = 0;
  std::int64_t free = -1;

  static int with(int number) { return errno = number, -1; }
  int fallocate(int file, std::uint64_t bytes) const override {
    return fallocate_errno != 0 ? with(fallocate_errno) : StageCalls::fallocate(file, bytes);
  }
  std::int64_t pwrite(int file, ConstBytes bytes, std::uint64_t offset) const override {
    return pwrite_errno != 0 && good_writes-- <= 0 ? with(pwrite_errno) : StageCalls::pwrite(file, bytes, offset);
  }
  int fsync(int file) const override { return fsync_errno != 0 ? with(fsync_errno) : StageCalls::fsync(file); }
  int syncfs(int file) const override { return fsync_errno != 0 ? with(fsync_errno) : StageCalls::syncfs(file); }
  int rename(const char* from, const char* to) const override {
    return rename_errno != 0 ? with(rename_errno) : StageCalls::rename(from, to);
  }
  std::int64_t free_bytes(const char* folder) const override { return free >= 0 ? free : StageCalls::free_bytes(folder); }
};

}  // namespace penstock
