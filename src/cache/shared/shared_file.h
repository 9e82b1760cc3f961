// A file that processes of one node have mapped together, and that goes away with the last of them.
//
// Whoever uses it holds a shared lock on it, which the kernel drops even of a process that was killed: so
// "is anybody there?" needs no list of processes. Only who gets the lock for itself may prepare it anew
// or remove it.
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
  // `prepare` is called where nobody else has it, and says whether what is there may be used, after making
  // it so.
  using Prepare = std::function<Status(const SharedFile&)>;
  static Result<std::unique_ptr<SharedFile>> attach(const std::string& path, std::uint64_t bytes,
                                                    bool removed_by_last, const Prepare& prepare);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;

  MutableBytes bytes() const { return {data_, size_}; }
  // Somebody has cut it short; what is missing reads as zeros.
  bool is_lost() const { return guard_.is_lost(); }

  // While nobody else has it. All of it is zero; of the beginning the system has so many bytes at hand.
  Status make_empty(std::uint64_t backed_bytes) const;
  // Asks the system for the first bytes, so that writing to them cannot fail. Where it has not got them all,
  // the file has none.
  Status back(std::uint64_t bytes) const;

  // Into the file, and so into everybody's mapping. Where the system has no page for it, this is where it
  // says so: writing to the mapping would be a crash. Fails where the file was cut short.
  Status write(std::uint64_t offset, ConstBytes bytes) const;

 private:
  SharedFile(std::string path, Descriptor file, std::byte* data, std::uint64_t size, bool removed_by_last);

  const std::string path_;
  const Descriptor file_;
  std::byte* const data_;
  const std::uint64_t size_;
  const bool removed_by_last_;
  const MappingGuard guard_;
  const int process_;  // a fork has the same lock, which is not its own to give up
};

// Removes files of this folder whose name begins so and that nobody has. Returns how many.
std::size_t remove_abandoned(const std::string& folder, const std::string& prefix);

}  // namespace penstock
