// Turns what libjpeg complains about into errors, and bounds the work of malicious files. The decoder and the
// rewriter of JPEGs share it, so that both refuse the same files.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "penstock/result.h"

namespace penstock {

// If data is missing, left over or invalid, libjpeg only warns and makes the rest grey. A training loop must
// not get such pixels, so warnings are errors here. An error jumps to `escape`, which the caller has set; thus
// no object with a destructor may live in a function that calls setjmp() and then libjpeg.
//
// The object must outlive the structure of libjpeg that it was installed in, and must not move.
class JpegErrors {
 public:
  explicit JpegErrors(const Limits& limits) : scan_limit_(static_cast<int>(limits.jpeg_scans)) {}
  JpegErrors(const JpegErrors&) = delete;

  // Call it before jpeg_create_decompress() or jpeg_create_compress(), for `handler()`; and afterwards for the
  // rest, which creating would reset.
  jpeg_error_mgr* handler();
  jpeg_progress_mgr* progress() { return &progress_; }

  // Forgets the file before.
  void begin();
  // Sets the message of a failure that libjpeg did not notice.
  void set_message(const char* message) { std::snprintf(message_, sizeof message_, "%s", message); }
  std::unexpected<Error> error() const;
  ErrorCode code() const { return code_; }

  std::jmp_buf escape;

 private:
  static JpegErrors& of(j_common_ptr info);
  [[noreturn]] static void leave(j_common_ptr info);
  static void on_message(j_common_ptr info, int level);
  static void on_progress(j_common_ptr info);

  struct Handler {
    jpeg_error_mgr base;
    JpegErrors* owner;
  };
  Handler handler_{};
  jpeg_progress_mgr progress_{};
  char message_[JMSG_LENGTH_MAX]{};
  ErrorCode code_ = ErrorCode::kCorrupt;
  const int scan_limit_;
  int scans_ = 0;             // number of scans begun so far
  std::uint64_t visits_ = 0;  // visits of blocks by the scans so far
};

// Entropy-coded data never contains FF D9, because FF is always stuffed. So a file without it is truncated,
// even if the wanted rows are complete.
bool has_jpeg_end_marker(ConstBytes encoded);

}  // namespace penstock
