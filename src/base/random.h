// Random draws as a pure function of (seed, epoch, position, view): Philox4x32-10 (Salmon et al., 2011).
//
// The generator is counter-based because the pixels of a sample must not depend on the thread, rank or cache that
// served it: no state may carry over from one sample to the next.
#pragma once

#include <array>
#include <cstdint>

namespace penstock {

// The random numbers of one sample. A stream is the step that draws (for example the first RandomResizedCrop), so that
// image and mask agree even if only one of them has a ColorJitter. Cheap to copy; not thread-safe.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t epoch, std::uint64_t position)
      : key_{low(seed), high(seed)},
        epoch_(epoch),
        position_(position) {}

  // The first output of a stored field is its view 0, the second output its view 1. Two views of one picture draw
  // independently, while the image and the mask of one view draw the same numbers. Streams are below 2^16.
  void select_view(std::uint32_t view) { view_ = view << 16; }

  void select_stream(std::uint32_t stream) {
    stream_ = view_ | stream;
    index_ = 0;
    left_ = 0;
  }

  std::uint32_t next_u32() {
    if (left_ == 0) refill();
    return block_[--left_];
  }

  // Uniform in [0, 1), with all the precision of a double.
  double uniform() {
    const std::uint64_t a = next_u32() >> 5, b = next_u32() >> 6;
    return static_cast<double>((a << 26) | b) * (1.0 / 9007199254740992.0);
  }

  double uniform(double from, double to) { return from + (to - from) * uniform(); }

  // Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    const unsigned __int128 wide =
        static_cast<unsigned __int128>((std::uint64_t{next_u32()} << 32) | next_u32()) * bound;
    return static_cast<std::uint64_t>(wide >> 64);
  }

  bool chance(double probability) { return uniform() < probability; }

  // Identifies the numbers. Code with a generator of its own uses it as the seed.
  struct Key {
    std::uint64_t seed = 0, epoch = 0, position = 0;
    std::uint32_t stream = 0;  // the step that draws, and the view
  };
  Key key() const { return {std::uint64_t{key_[1]} << 32 | key_[0], epoch_, position_, stream_}; }

 private:
  static std::uint32_t low(std::uint64_t v) { return static_cast<std::uint32_t>(v); }
  static std::uint32_t high(std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); }

  void refill() {
    std::uint32_t k0 = key_[0] ^ stream_ * 0x9E3779B9u, k1 = key_[1] ^ index_++;
    std::array<std::uint32_t, 4> c = {low(position_), high(position_), low(epoch_), high(epoch_)};
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c[0];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c[2];
      c = {high(p1) ^ c[1] ^ k0, low(p1), high(p0) ^ c[3] ^ k1, low(p0)};
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    block_ = c;
    left_ = 4;
  }

  std::array<std::uint32_t, 2> key_;
  std::uint64_t epoch_;
  std::uint64_t position_;
  std::uint32_t view_ = 0;
  std::uint32_t stream_ = 0;
  std::uint32_t index_ = 0;
  std::uint32_t left_ = 0;
  std::array<std::uint32_t, 4> block_{};
};

// A well-mixed 64-bit hash step (the finaliser of SplitMix64).
inline std::uint64_t mix64(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

}  // namespace penstock
