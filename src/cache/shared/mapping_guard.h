// Keeps a process alive when a file that it has mapped is cut short.
//
// Whoever touches a page that the file no longer has gets SIGBUS, which ends the process. The files of the cache can
// be cut short only by processes of the same user (they have mode 600), but by any of them: a shell, a script that
// cleans a disk. Looking at the size before each access would not help, and reading the tables by system calls would
// cost more than the cache saves on small samples. So what is missing of a guarded mapping is replaced by zeros, and
// the mapping counts as lost: a table of zeros is an empty one, and samples that were being made then are errors.
//
// This needs a handler of SIGBUS, which is there while anything is guarded. Signals that are not about a guarded
// mapping go to whoever handled them before.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

class MappingGuard {
 public:
  struct Range;
  // Where very many are guarded already, this one is not.
  MappingGuard(void* address, std::size_t bytes);
  MappingGuard(const MappingGuard&) = delete;
  ~MappingGuard();

  bool is_lost() const;

 private:
  Range* range_ = nullptr;
};

// How many mappings this process has lost. What was read from a mapping is what was written there if this is the
// same before and after.
std::uint64_t lost_mappings();

}  // namespace penstock
