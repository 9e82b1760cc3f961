// A file that several processes of one node map into their memory.
//
// Every process that uses the file holds a shared lock on it. The kernel releases the lock even if the
// process is killed, so no list of processes is needed to find out whether the file is in use. Only a process
// that holds the lock exclusively may prepare the file anew or remove it. bytes(), is_lost() and write() are
// thread-safe; two writes at the same time must not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "cache/shared/descriptor.h"
#include "cache/shared/mapping_guard.h"
#include "penstock/result.h"

namespace penstock {

class SharedFile {
 public:
  // Called if no other process uses the file. It makes the contents usable, or fails.
  using Prepare = std::function<Status(const SharedFile&)>;
  // Opens the file, or makes it, with a size of `bytes`, and maps it. With `removed_by_last`, the last
  // process that uses the file removes it. Fails with kChanged if the file has another size and is in use.
  static Result<std::unique_ptr<SharedFile>> attach(const std::string& path, std::uint64_t bytes,
                                                    bool removed_by_last, const Prepare& prepare);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;

  MutableBytes bytes() const { return {data_, size_}; }
  // True if the file was cut short; the missing part of the mapping reads as zeros.
  bool is_lost() const { return guard_.is_lost(); }

  // Fills the file with zeros and allocates its first `backed_bytes`. May be called only while no other
  // process uses it.
  Status make_empty(std::uint64_t backed_bytes) const;
  // Allocates the first `bytes` of the file, so that a write to them cannot fail for lack of memory. On
  // failure, the file is empty.
  Status back(std::uint64_t bytes) const;

  // Writes to the file, and thereby to the mappings of all processes. If the system has no memory, this
  // fails, whereas a write to the mapping would end the process. Fails also if the file was cut short.
  Status write(std::uint64_t offset, ConstBytes bytes) const;

 private:
  SharedFile(std::string path, Descriptor file, std::byte* data, std::uint64_t size, bool removed_by_last);

  const std::string path_;
  const Descriptor file_;
  std::byte* const data_;
  const std::uint64_t size_;
  const bool removed_by_last_;
  const MappingGuard guard_;
  const int process_;  // a forked child shares the lock and must not release it
};

// Removes the files of this user in the folder whose names begin with `prefix` and that no process uses.
// Returns how many.
std::size_t remove_abandoned(const std::string& folder, const std::string& prefix);

}  // namespace penstock
