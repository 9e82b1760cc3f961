#include "store/file/file_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace penstock {

std::unexpected<Error> file_error(std::string_view action, int number, Where where) {
  ErrorCode code = ErrorCode::kIo;
  if (number == ENOENT || number == ENOTDIR) code = ErrorCode::kNotFound;
  if (number == EACCES || number == EPERM) code = ErrorCode::kNoAccess;
  return std::unexpected(Error{code, fmt::format("cannot {} ({})", action, std::strerror(number)), std::move(where),
                               number == EIO || number == ESTALE || number == EAGAIN});
}

}  // namespace penstock
