// The size of one storage unit (a sample, or a chunk that samples share), stored and decoded, and the seconds that
// reading and decoding it take.
#pragma once

namespace penstock {

struct UnitCost {
  double read_seconds = 0, decode_seconds = 0;
  double encoded_bytes = 0, decoded_bytes = 0;
};

}  // namespace penstock
