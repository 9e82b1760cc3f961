// A keyed permutation of [0, n) that needs no array: a Feistel network with cycle walking.
//
// Why: a run can resume at any position at no cost, and 10^9 samples need no index in memory.
// Immutable; thread-safe.
#pragma once

#include <array>
#include <cstdint>

namespace penstock {

class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t key);

  std::uint64_t operator()(std::uint64_t index) const;  // index < size
  std::uint64_t inverse(std::uint64_t value) const;     // value < size
  std::uint64_t size() const { return size_; }

 private:
  static constexpr int kRounds = 6;  // even, so that each half ends on its own side

  std::uint64_t forward_once(std::uint64_t index) const;
  std::uint64_t backward_once(std::uint64_t value) const;

  std::uint64_t size_;
  unsigned left_bits_, right_bits_;
  std::array<std::uint64_t, kRounds> round_keys_{};
};

}  // namespace penstock
