// Files that processes of one user lock for each other.
//
// Names in /dev/shm can be guessed, so another user may have made a file of that name, and hold a lock on it
// for ever; and a process of the same user may be stopped while it holds one. So a file of somebody else is
// never locked or written, and nobody waits for a lock for long.
#pragma once

#include <string>

#include "cache/shared/descriptor.h"
#include "penstock/result.h"

namespace penstock {

// Opens the file for reading and writing, or makes it. Fails (kNoAccess) where it is not a plain file of this
// user's that nobody else may open.
Result<Descriptor> open_own_file(const std::string& path);

enum class FileLock : unsigned char {
  kNone,    // somebody has it alone and did not give it back in time
  kShared,  // others have it too
  kAlone,
};
// Takes the lock alone where nobody else has it, otherwise shared. Waits a few seconds for one who has it alone.
FileLock lock_alone_or_shared(const Descriptor& file);
// Takes it shared, or makes it shared where it is held alone. False: not in time.
bool lock_shared(const Descriptor& file);
// Takes it alone. False: not in a moment.
bool lock_alone_for_a_moment(const Descriptor& file);

}  // namespace penstock
