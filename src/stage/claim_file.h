// Claims by which processes divide work: locks on single bytes of one file.
//
// The kernel releases the locks of a process that ends, however it ends, so the work of a killed process is taken over
// without a list of processes or a time limit. The locks belong to the open file, so that two ClaimFiles of one process
// exclude each other too; within one ClaimFile, the same claim may be taken again, and the caller keeps its own books.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "cache/shared/descriptor.h"
#include "penstock/result.h"

namespace penstock {

class ClaimFile {
 public:
  static Result<ClaimFile> open(const std::string& path);

  // Returns false if another process has it. `name` and `part` together name the claim.
  bool try_claim(std::uint64_t name, std::uint64_t part) const;
  void release(std::uint64_t name, std::uint64_t part) const;

 private:
  explicit ClaimFile(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

}  // namespace penstock
