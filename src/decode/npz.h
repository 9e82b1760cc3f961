// NumPy's .npz: a zip archive of .npy files, stored or deflated. Nothing else that zip can do.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/memory/charge.h"
#include "base/limits.h"
#include "penstock/result.h"

namespace penstock {

struct NpzMember {
  std::string name;  // without ".npy"
  bool deflated = false;
  ConstBytes stored;             // as it lies in the archive
  std::uint64_t size_bytes = 0;  // of the .npy file, checked against limits
  std::uint32_t crc32 = 0;
};

// The members, in the order of the central directory, which must agree with the local headers.
// Errors carry the offset within `file`. `charge` is asked before the list is made.
Result<std::vector<NpzMember>> list_npz(ConstBytes file, const Limits& limits, const Charge& charge = {});

// The .npy file of one member; `out` holds exactly size_bytes. Fails where size or CRC-32 differ.
Status unpack_npz(const NpzMember& member, MutableBytes out);

}  // namespace penstock
