#include "order/permutation.h"

#include <algorithm>
#include <bit>

#include "base/random.h"

namespace penstock {
namespace {

std::uint64_t mask(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t key) : size_(size) {
  // The smallest power of two that covers the range, so that cycle walking takes fewer than two steps on
  // average.
  const unsigned bits =
      std::max(2u, static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(size, 2) - 1)));
  left_bits_ = bits / 2;
  right_bits_ = bits - left_bits_;
  for (auto& round_key : round_keys_) round_key = key = mix64(key);
}

std::uint64_t Permutation::forward_once(std::uint64_t index) const {
  std::uint64_t left = index >> right_bits_, right = index & mask(right_bits_);
  for (int round = 0; round < kRounds; round += 2) {
    left ^= mix64(right + round_keys_[static_cast<std::size_t>(round)]) & mask(left_bits_);
    right ^= mix64(left + round_keys_[static_cast<std::size_t>(round) + 1]) & mask(right_bits_);
  }
  return (left << right_bits_) | right;
}

std::uint64_t Permutation::backward_once(std::uint64_t value) const {
  std::uint64_t left = value >> right_bits_, right = value & mask(right_bits_);
  for (int round = kRounds - 2; round >= 0; round -= 2) {
    right ^= mix64(left + round_keys_[static_cast<std::size_t>(round) + 1]) & mask(right_bits_);
    left ^= mix64(right + round_keys_[static_cast<std::size_t>(round)]) & mask(left_bits_);
  }
  return (left << right_bits_) | right;
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  do index = forward_once(index);
  while (index >= size_);
  return index;
}

std::uint64_t Permutation::inverse(std::uint64_t value) const {
  do value = backward_once(value);
  while (value >= size_);
  return value;
}

}  // namespace penstock
