// Results and errors. A function that can fail returns a Result; damaged data is a value, not an exception.
//
// Why: a loader must be able to skip one bad sample among millions without unwinding a worker thread, and the
// message must tell the user which bytes of which object are bad. All types here are plain values that own
// what they hold.
//
//   Result<SourcePtr> source = open_source(uri, options);
//   if (!source) return report(source.error().describe());
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <utility>

namespace penstock {

enum class ErrorCode : std::uint8_t {
  kInvalidArgument,  // an argument of the caller is not valid
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
  kCallback,         // a function of the user failed
  kTooManySkipped,   // on_error=skip met more bad samples than max_skip allows
  kStopped,          // the caller cancelled the work (interruption.h)
};

// The position of an error in the data. Fields that do not apply are empty or -1.
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
  bool retryable = false;  // the same call may succeed later
  // kCallback: the exception that the user's function threw, as an object of the language that it is written
  // in. Any thread may destroy the last copy.
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

// Returns from the calling function if the Result holds an error, and passes the error on.
#define PENSTOCK_CHECK(expression)                                 \
  do {                                                             \
    if (auto penstock_status_ = (expression); !penstock_status_)   \
      return std::unexpected(std::move(penstock_status_).error()); \
  } while (false)
