// Writes one object: all of it becomes visible at once, or nothing does.
#pragma once

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

struct CreateOptions {
  // Only the user that runs this process may read the object (files: mode 0600).
  bool owner_only = false;
  // commit() returns once the object would survive a power failure. Without this it returns earlier, and a power
  // failure may leave a damaged object: choose that only for data that carries a checksum and can be made again.
  bool sync = true;
};

// Store::create() makes it; the caller owns it. It may outlive its store. One thread at a time may use it.
// Readers see the object that was there before until commit() succeeds, and the new one afterwards. A writer that
// is destroyed without a commit is abandoned.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;

  // Appends `bytes`. After a failure the writer can only be abandoned.
  virtual Status write(ConstBytes bytes) = 0;

  // Replaces the object of this key by what was written. May be called once. After a failure readers still see the
  // old object. There is one exception: if only the last step fails, which makes the replacement durable, they
  // see the new object, whole.
  virtual Status commit() = 0;

  // Removes what was written. Does nothing after a commit.
  virtual void abandon() = 0;
};

}  // namespace penstock
