// A Blosc 1 frame: blocks of compressed elements, which can be had one by one.
//
// The library believes much of what a frame says, and has open reports of writing past the end
// (c-blosc #405). So the header, where the blocks begin and how long each compressed piece is are
// checked here first; what would lead it astray never reaches it.
#pragma once

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

bool reads_blosc();

// Borrows the frame's bytes. Immutable; thread-safe.
class BloscFrame {
 public:
  // Believes the header only where it agrees with itself and with the number of bytes there are.
  static Result<BloscFrame> open(ConstBytes bytes);

  std::size_t decoded_bytes() const { return decoded_bytes_; }
  std::size_t item_bytes() const { return item_bytes_; }
  // What the library allocates by itself while it decodes.
  std::uint64_t library_bytes() const;

  // `out` has decoded_bytes().
  Status decode(MutableBytes out) const;
  // As many whole items as fill `out`; they are there.
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
