#include "stage/stage_calls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cache/shared/descriptor.h"

namespace penstock {

int StageCalls::fallocate(int descriptor, std::uint64_t bytes) const {
  // A file system in memory would fill all pages with zeros, which takes longer than a first batch may.
  struct statfs system{};
  if (fstatfs(descriptor, &system) == 0 && system.f_type == TMPFS_MAGIC) return errno = EOPNOTSUPP, -1;
  return ::fallocate(descriptor, 0, 0, static_cast<off_t>(bytes));
}
std::int64_t StageCalls::pwrite(int descriptor, ConstBytes bytes, std::uint64_t offset) const {
  return ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
}
int StageCalls::fsync(int descriptor) const { return ::fsync(descriptor); }
int StageCalls::syncfs(int descriptor) const { return ::syncfs(descriptor); }
int StageCalls::rename(const char* from, const char* to) const { return ::rename(from, to); }
std::int64_t StageCalls::free_bytes(const char* folder) const {
  struct statvfs system{};
  if (::statvfs(folder, &system) != 0) return -1;
  return static_cast<std::int64_t>(system.f_bavail) * static_cast<std::int64_t>(system.f_frsize);
}

std::unexpected<Error> stage_failure(const char* action, const std::string& path) {
  const int number = errno;
  const ErrorCode code = number == EACCES || number == EPERM || number == EROFS ? ErrorCode::kNoAccess : ErrorCode::kIo;
  return fail(code, fmt::format("cannot {} ({})", action, std::strerror(number)), {path, -1, -1, -1});
}

Status allocate_file(const StageCalls& calls, int descriptor, std::uint64_t bytes, const std::string& path) {
  if (ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) return stage_failure("set the size of", path);
  if (bytes == 0) return {};
  int done = 0;
  do done = calls.fallocate(descriptor, bytes);
  while (done != 0 && errno == EINTR);
  // Some file systems cannot reserve blocks; there a full disk shows when the bytes are written.
  if (done != 0 && errno != EOPNOTSUPP && errno != ENOSYS) return stage_failure("reserve space for", path);
  return {};
}

Status write_at(const StageCalls& calls, int descriptor, ConstBytes bytes, std::uint64_t offset,
                const std::string& path) {
  while (!bytes.empty()) {
    const std::int64_t written = calls.pwrite(descriptor, bytes, offset);
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = EIO;
    if (written <= 0) return stage_failure("write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return {};
}

Status read_at(int descriptor, MutableBytes bytes, std::uint64_t offset, const std::string& path) {
  constexpr std::size_t kBytesPerRead = 16 << 20;
  while (!bytes.empty()) {
    const ssize_t got = ::pread(descriptor, bytes.data(), std::min(bytes.size(), kBytesPerRead),
                                static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return stage_failure("read", path);
    if (got == 0)
      return fail(ErrorCode::kTruncated, fmt::format("the copy ends at {} bytes, {} expected", offset,
                                                     offset + bytes.size()), {path, -1, -1, -1});
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

Status sync_folder(const StageCalls& calls, const std::string& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0) return stage_failure("open the folder", folder);
  // Some file systems cannot sync folders and say so with EINVAL; they need no sync.
  if (calls.fsync(opened.get()) != 0 && errno != EINVAL) return stage_failure("sync the folder", folder);
  return {};
}

}  // namespace penstock
