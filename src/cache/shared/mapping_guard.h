// Keeps a process alive when a file that it has mapped is cut short.
//
// A thread that touches a page beyond the end of a mapped file gets SIGBUS, which ends the process. Only
// processes of the same user can cut the files of the cache short (they have mode 600), but any of them can:
// a shell, or a script that cleans a disk. A check of the size before each access would leave a race, and
// reading the tables by system calls would cost more than the cache saves on small samples. So the guard
// replaces missing pages by zeros and marks the mapping as lost. A table of zeros is an empty table, and
// samples that were being made from the mapping end with an error.
//
// The guard installs a handler of SIGBUS for as long as any mapping is guarded. Signals that do not concern a
// guarded mapping are passed to the previous handler. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

class MappingGuard {
 public:
  struct Range;
  // Guards at most 256 mappings per process; further ones are not guarded.
  MappingGuard(void* address, std::size_t bytes);
  MappingGuard(const MappingGuard&) = delete;
  ~MappingGuard();

  bool is_lost() const;

 private:
  Range* range_ = nullptr;
};

// Returns how many mappings this process has lost. Bytes that were read from a mapping are valid if this number did not
// change meanwhile.
std::uint64_t lost_mappings();

}  // namespace penstock
