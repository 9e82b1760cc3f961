#include "cache/shared/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace penstock {
namespace {

constexpr auto kBetweenLockTries = std::chrono::milliseconds(10);
// The holder of an exclusive lock may be making a table of up to some gigabytes, so the limit is 5 seconds.
constexpr int kLockTries = 500, kFewLockTries = 20;
constexpr int kMakeTries = 100;  // other processes may remove the file between two of our steps

template <typename Try>
bool try_often(int tries, const Try& attempt) {
  for (int i = 0; i < tries; ++i) {
    if (i > 0) std::this_thread::sleep_for(kBetweenLockTries);
    if (attempt()) return true;
  }
  return false;
}

bool try_lock(const Descriptor& file, int how) { return flock(file.get(), how | LOCK_NB) == 0; }

Result<Descriptor> open_or_make(const std::string& path) {
  constexpr int kHow = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  for (int i = 0; i < kMakeTries; ++i) {
    Descriptor made(open(path.c_str(), kHow | O_CREAT | O_EXCL, 0600));
    if (made.get() >= 0) return made;
    if (errno != EEXIST) break;
    Descriptor found(open(path.c_str(), kHow));
    if (found.get() >= 0) return found;
    if (errno != ENOENT) break;
  }
  return system_failure("cannot open", path);
}

}  // namespace

Result<Descriptor> open_own_file(const std::string& path) {
  auto file = open_or_make(path);
  if (!file) return file;
  struct stat status{};
  if (fstat(file->get(), &status) != 0) return system_failure("cannot look at it", path);
  const bool is_own = status.st_uid == geteuid() && S_ISREG(status.st_mode) && (status.st_mode & 022) == 0;
  // A copied folder has the modes that the copying program chose. If other users could only read the file, it
  // is made private again; if they could write to it, it is refused.
  const bool is_closed = (status.st_mode & 077) == 0 || (is_own && fchmod(file->get(), 0600) == 0);
  if (!is_own || !is_closed)
    return fail(ErrorCode::kNoAccess, "is not a plain file of this user's that nobody else may write",
                {path, -1, -1, -1});
  return file;
}

FileLock lock_alone_or_shared(const Descriptor& file) {
  auto lock = FileLock::kNone;
  try_often(kLockTries, [&] {
    if (try_lock(file, LOCK_EX))
      lock = FileLock::kAlone;
    else if (try_lock(file, LOCK_SH))
      lock = FileLock::kShared;
    return lock != FileLock::kNone;
  });
  return lock;
}

bool lock_shared(const Descriptor& file) {
  return try_often(kLockTries, [&] { return try_lock(file, LOCK_SH); });
}

bool lock_alone_for_a_moment(const Descriptor& file) {
  return try_often(kFewLockTries, [&] { return try_lock(file, LOCK_EX); });
}

}  // namespace penstock
