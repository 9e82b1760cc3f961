// Owns a file descriptor, and turns errors of the system into values.
#pragma once

#include <string>
#include <utility>

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    Descriptor old(std::move(*this));
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// Writes all bytes, in as many calls as it takes. Returns 0 or an errno value.
int write_whole(int file, ConstBytes bytes, std::uint64_t offset);

// Makes an error from errno; call it right after the system call that failed.
std::unexpected<Error> system_failure(const std::string& what, const std::string& path);

}  // namespace penstock
