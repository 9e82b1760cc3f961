// The options of the S3 stores that a thread makes, for the lifetime of the scope.
//
// Sources make their stores several calls below the function that opens them, on its thread, and no source but those in
// buckets has a use for these options. So they reach make_store_for() as the interruption and the memory of an opening
// do: by the thread. Scopes nest; the innermost one counts.
#pragma once

#include "store/s3/s3_options.h"

namespace penstock {

class S3OptionsScope {
 public:
  explicit S3OptionsScope(S3Options options);
  S3OptionsScope(const S3OptionsScope&) = delete;
  ~S3OptionsScope();

  // Of this thread; the defaults where there is no scope.
  static S3Options current();

 private:
  const S3Options options_;
  const S3OptionsScope* const outer_;
};

}  // namespace penstock
