// System calls that are interrupted, cut short or failed, by a seed.
#pragma once

#include <atomic>
#include <cerrno>

#include "base/random.h"
#include "store/file_store.h"

namespace penstock {

struct CallFaults {
  double short_read = 0;   // chance that a read gives only one byte to half of what was asked
  double interrupted = 0;  // EINTR, of opens and reads
  double again = 0;        // EAGAIN, of reads
  int read_errno = 0;      // every read fails with this
  int open_errno = 0;
  int stat_errno = 0;
  std::uint64_t seed = 1;
};

class FaultCalls final : public FileCalls {
 public:
  explicit FaultCalls(CallFaults faults) : faults_(faults) {}

  int open(const char* path) const override {
    if (faults_.open_errno != 0) return fail_with(faults_.open_errno);
    if (chance(faults_.interrupted)) return fail_with(EINTR);
    const int descriptor = FileCalls::open(path);
    if (descriptor >= 0) ++open_files_;
    return descriptor;
  }
  int fstat(int descriptor, struct stat* out) const override {
    return faults_.stat_errno != 0 ? fail_with(faults_.stat_errno) : FileCalls::fstat(descriptor, out);
  }
  ssize_t preadv(int descriptor, const iovec* parts, int count, off_t offset) const override {
    ++reads_;
    if (faults_.read_errno != 0) return fail_with(faults_.read_errno);
    if (chance(faults_.interrupted)) return fail_with(EINTR);
    if (chance(faults_.again)) return fail_with(EAGAIN);
    if (!chance(faults_.short_read)) return FileCalls::preadv(descriptor, parts, count, offset);
    iovec cut = parts[0];
    cut.iov_len = cut.iov_len / 2 > 0 ? cut.iov_len / 2 : 1;
    return FileCalls::preadv(descriptor, &cut, 1, offset);
  }
  int close(int descriptor) const override {
    --open_files_;
    return FileCalls::close(descriptor);
  }

  int open_files() const { return open_files_; }
  std::uint64_t reads() const { return reads_; }

 private:
  static int fail_with(int number) {
    errno = number;
    return -1;
  }
  bool chance(double probability) const {
    return probability > 0 && Draws(faults_.seed, 0, ++calls_).uniform() < probability;
  }

  const CallFaults faults_;
  mutable std::atomic<std::uint64_t> calls_{0}, reads_{0};
  mutable std::atomic<int> open_files_{0};
};

}  // namespace penstock
