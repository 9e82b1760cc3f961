// A Blosc 1 frame: blocks of compressed elements, which can be decoded one by one.
//
// The library trusts much of a frame, and has open reports of writes past the end (c-blosc #405). So this
// code first checks the header, the offsets of the blocks and the length of each compressed piece, and passes
// only valid frames on.
#pragma once

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

bool reads_blosc();

// Borrows the frame's bytes. Immutable; thread-safe.
class BloscFrame {
 public:
  // Fails if the header contradicts itself or the number of bytes.
  static Result<BloscFrame> open(ConstBytes bytes);

  std::size_t decoded_bytes() const { return decoded_bytes_; }
  std::size_t item_bytes() const { return item_bytes_; }
  // Memory that the library allocates while it decodes.
  std::uint64_t library_bytes() const;

  // `out` must have decoded_bytes() bytes.
  Status decode(MutableBytes out) const;
  // Decodes as many whole items as fill `out`. The frame must have them.
  Status decode_items(std::size_t first_item, MutableBytes out) const;

 private:
  BloscFrame() = default;

  std::size_t block_count() const { return (decoded_bytes_ + block_bytes_ - 1) / block_bytes_; }
  Status check_block(std::size_t block) const;
  Status check_piece(std::size_t offset, std::size_t length, std::size_t decoded_length) const;

  ConstBytes bytes_;
  std::size_t decoded_bytes_ = 0;
  std::size_t block_bytes_ = 1;
  std::size_t item_bytes_ = 1;
  std::uint8_t flags_ = 0;
};

}  // namespace penstock
