#include "stage/claim_file.h"

#include <fcntl.h>

#include "base/random.h"
#include "stage/stage_calls.h"

namespace penstock {
namespace {

struct flock lock_of(short type, std::uint64_t name, std::uint64_t part) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  // Two claims that meet on one byte only wait for each other.
  lock.l_start = static_cast<off_t>(mix64(name ^ mix64(part)) >> 2);
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<ClaimFile> ClaimFile::open(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (file.get() < 0) return stage_failure("open", path);
  return ClaimFile(std::move(file));
}

bool ClaimFile::try_claim(std::uint64_t name, std::uint64_t part) const {
  struct flock lock = lock_of(F_WRLCK, name, part);
  return fcntl(file_.get(), F_OFD_SETLK, &lock) == 0;
}

void ClaimFile::release(std::uint64_t name, std::uint64_t part) const {
  struct flock lock = lock_of(F_UNLCK, name, part);
  fcntl(file_.get(), F_OFD_SETLK, &lock);
}

}  // namespace penstock
