// Reads NumPy's .npz: a zip archive of .npy files, stored or deflated. Other features of zip are not
// supported.
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
  ConstBytes stored;             // the bytes in the archive
  std::uint64_t size_bytes = 0;  // size of the .npy file, checked against the limits
  std::uint32_t crc32 = 0;
};

// Returns the members in the order of the central directory, which must agree with the local headers. Errors
// contain the offset within `file`. `charge` is called before the list is made.
Result<std::vector<NpzMember>> list_npz(ConstBytes file, const Limits& limits, const Charge& charge = {});

// Writes the .npy file of one member to `out`, which must have size_bytes bytes. Fails if size or CRC-32
// differ.
Status unpack_npz(const NpzMember& member, MutableBytes out);

}  // namespace penstock
