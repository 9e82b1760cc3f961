// Which entries are let in while the cache fills.
//
// What is kept must be made as a whole, and that can cost more than what the sample needs: a random crop
// decodes a part of its picture. Which samples are kept makes no difference to how often they are hit. So,
// where not all of them fit, those are kept of which the most is made anyway: just as many as fill the
// cache by the end of the first epoch. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace penstock {

class Admission {
 public:
  // An epoch begins in which entries are asked for so many times. From the second on all are let in.
  void start(std::uint64_t visits);

  // `share`: the part of it that is made anyway, 0 to 1. `free_bytes`: of this process's part of the cache.
  bool lets_in(double share, std::uint64_t entry_bytes, std::uint64_t free_bytes);

 private:
  static constexpr std::size_t kRemembered = 256;

  std::mutex mutex_;
  bool is_first_ = false;
  std::uint64_t epochs_ = 0, visits_ = 0, visited_ = 0;
  double bytes_seen_ = 0;
  std::array<float, kRemembered> shares_{};  // of the last visits
};

}  // namespace penstock
