// System calls that are interrupted, cut short or failed, by a seed.
//
// Thread-safe. Interruptions and short transfers are drawn from `seed`, so that a failing test can be repeated.
#pragma once

#include <atomic>
#include <cerrno>

#include "base/random.h"
#include "store/file/file_calls.h"

namespace penstock {

struct CallFaults {
  double short_read = 0;   // probability that a read returns only half of what was asked for
  double short_write = 0;  // the same for writes
  double interrupted = 0;  // probability of EINTR for opens, reads and writes
  double again = 0;        // probability of EAGAIN for reads
  // Every call of a kind fails with this error; 0: none does.
  int read_errno = 0;
  int open_errno = 0;
  int stat_errno = 0;
  int create_errno = 0;
  int write_errno = 0;
  int fsync_errno = 0;  // for files
  int rename_errno = 0;
  int folder_fsync_errno = 0;
  std::uint64_t seed = 1;
};

class FaultCalls final : public FileCalls {
 public:
  explicit FaultCalls(CallFaults faults) : faults_(faults) {}

  int open(const char* path) const override {
    if (faults_.open_errno != 0) return fail_with(faults_.open_errno);
    if (chance(faults_.interrupted)) return fail_with(EINTR);
    return counted(FileCalls::open(path));
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
    cut.iov_len = half_of(cut.iov_len);
    return FileCalls::preadv(descriptor, &cut, 1, offset);
  }
  int close(int descriptor) const override {
    --open_files_;
    return FileCalls::close(descriptor);
  }

  int create(const char* path, mode_t mode) const override {
    if (faults_.create_errno != 0) return fail_with(faults_.create_errno);
    if (chance(faults_.interrupted)) return fail_with(EINTR);
    return counted(FileCalls::create(path, mode));
  }
  ssize_t write(int descriptor, ConstBytes bytes) const override {
    if (faults_.write_errno != 0) return fail_with(faults_.write_errno);
    if (chance(faults_.interrupted)) return fail_with(EINTR);
    return FileCalls::write(descriptor, chance(faults_.short_write) ? bytes.first(half_of(bytes.size())) : bytes);
  }
  int fsync(int descriptor) const override {
    ++syncs_;
    struct stat info{};
    const bool is_folder = FileCalls::fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode);
    const int number = is_folder ? faults_.folder_fsync_errno : faults_.fsync_errno;
    return number != 0 ? fail_with(number) : FileCalls::fsync(descriptor);
  }
  int rename(const char* from, const char* to) const override {
    return faults_.rename_errno != 0 ? fail_with(faults_.rename_errno) : FileCalls::rename(from, to);
  }

  int open_files() const { return open_files_; }
  std::uint64_t reads() const { return reads_; }
  std::uint64_t syncs() const { return syncs_; }

 private:
  static int fail_with(int number) {
    errno = number;
    return -1;
  }
  static std::size_t half_of(std::size_t size) { return size / 2 > 0 ? size / 2 : 1; }
  int counted(int descriptor) const {
    if (descriptor >= 0) ++open_files_;
    return descriptor;
  }
  bool chance(double probability) const {
    return probability > 0 && Draws(faults_.seed, 0, ++calls_).uniform() < probability;
  }

  const CallFaults faults_;
  mutable std::atomic<std::uint64_t> calls_{0}, reads_{0}, syncs_{0};
  mutable std::atomic<int> open_files_{0};
};

}  // namespace penstock
