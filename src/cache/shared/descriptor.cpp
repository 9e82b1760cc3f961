#include "cache/shared/descriptor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace penstock {

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

int write_whole(int file, ConstBytes bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return 0;
}

std::unexpected<Error> system_failure(const std::string& what, const std::string& path) {
  const int why = errno;
  const ErrorCode code = why == ENOSPC || why == ENOMEM || why == EDQUOT ? ErrorCode::kNoMemory
                         : why == EACCES || why == EPERM || why == EROFS ? ErrorCode::kNoAccess
                         : why == ENOENT                                 ? ErrorCode::kNotFound
                                                                         : ErrorCode::kIo;
  return fail(code, fmt::format("{} ({})", what, std::strerror(why)), {path, -1, -1, -1});
}

}  // namespace penstock
