// The hashes that an MDS index has of its shards. Streaming takes them by their names in Python's hashlib and xxhash.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "source/mds/mds_index.h"

namespace penstock {

// A hash of bytes that come piece by piece. Used by one thread.
class ShardHash {
 public:
  virtual ~ShardHash() = default;
  virtual void update(ConstBytes bytes) = 0;
  // In hexadecimal digits, lower case. May be called once.
  virtual std::string digest() = 0;
};

// nullptr: the hash is not known, or this build lacks the library that computes it.
std::unique_ptr<ShardHash> make_shard_hash(std::string_view algorithm);

// The hash that is fastest to compute, of those that are known; nullptr where there is none. One is enough: each of
// them finds damage, and none protects from somebody who can also write the index.
const MdsHash* fastest_known(const std::vector<MdsHash>& hashes);

}  // namespace penstock
