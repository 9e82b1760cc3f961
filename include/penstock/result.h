// Results and errors: damaged data is a value, not an exception.
//
// Why: one bad sample among millions must be skippable without unwinding a worker thread, and
// whoever reads the message must learn which bytes of which object are to blame.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <utility>

namespace penstock {

enum class ErrorCode : std::uint8_t {
  kInvalidArgument,  // the caller asked for something that makes no sense
  kNotFound,         // no such object
  kNoAccess,         // the object exists but may not be read
  kIo,               // the store failed (EIO, ESTALE, ...)
  kTruncated,        // fewer bytes than the format or the index promises
  kChanged,          // the object is not the one that was indexed
  kCorrupt,          // the bytes contradict their format
  kUnsupported,      // valid, but not something this build reads
  kTooLarge,         // beyond a limit that protects memory or time
  kNoMemory,         // does not fit the memory budget
  kShapeMismatch,    // a sample does not fit its batch
  kCallback,         // the user's own function failed
  kTooManySkipped,   // on_error=skip met more bad samples than max_skip allows
  kStopped,          // whoever waited did not want to wait longer
};

// Where the trouble is. Fields that do not apply are empty or -1.
struct Where {
  std::string uri;
  std::int64_t offset = -1;
  std::int64_t length = -1;
  std::int64_t sample = -1;
};

struct Error {
  ErrorCode code = ErrorCode::kCorrupt;
  std::string message;
  Where where;
  bool retryable = false;
  // What the user's function threw, as the language that it is written in holds it. Whoever drops the last
  // copy may be any thread.
  std::shared_ptr<const void> cause = nullptr;

  // "truncated JPEG: cats/7.jpg @ 0+118034 (sample 12)"
  std::string describe() const;
};

template <typename T>
using Result = std::expected<T, Error>;

using Status = Result<void>;

inline std::unexpected<Error> fail(ErrorCode code, std::string message, Where where = {}) {
  return std::unexpected(Error{code, std::move(message), std::move(where), false, nullptr});
}

}  // namespace penstock

// Returns the error of a Result to the caller; otherwise goes on.
#define PENSTOCK_CHECK(expression)                                 \
  do {                                                             \
    if (auto penstock_status_ = (expression); !penstock_status_)   \
      return std::unexpected(std::move(penstock_status_).error()); \
  } while (false)
