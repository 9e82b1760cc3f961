#include "cache/descriptor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace penstock {

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
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
