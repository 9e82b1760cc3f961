// An open file that is closed with its owner, and what the system says when it refuses something.
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

// Writes all of it, in as many calls as the system takes. 0, or what errno says.
int write_whole(int file, ConstBytes bytes, std::uint64_t offset);

// From errno, as the call before has left it.
std::unexpected<Error> system_failure(const std::string& what, const std::string& path);

}  // namespace penstock
