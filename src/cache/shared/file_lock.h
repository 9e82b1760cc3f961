// Locks on files that the processes of one user share.
//
// Names in /dev/shm can be guessed, so another user may have made a file with such a name and may hold a lock
// on it for ever. A process of the same user may be stopped while it holds a lock. So files of other users
// are never locked or written, and every wait for a lock has a time limit.
#pragma once

#include <string>

#include "cache/shared/descriptor.h"
#include "penstock/result.h"

namespace penstock {

// Opens the file for reading and writing, and makes it if it does not exist. Fails with kNoAccess unless it
// is a plain file of this user that no other user may open.
Result<Descriptor> open_own_file(const std::string& path);

enum class FileLock : unsigned char {
  kNone,    // another process holds it exclusively and did not release it in time
  kShared,  // other processes hold it, too
  kAlone,   // exclusive
};
// Takes the lock exclusively if no other process has it, otherwise shared. Waits a few seconds while another
// process holds it exclusively.
FileLock lock_alone_or_shared(const Descriptor& file);
// Takes the lock shared, or turns an exclusive lock into a shared one. Returns false after a few seconds.
bool lock_shared(const Descriptor& file);
// Takes the lock exclusively. Returns false after a fraction of a second.
bool lock_alone_for_a_moment(const Descriptor& file);

}  // namespace penstock
