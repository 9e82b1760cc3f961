// The portable index of a packed shard, "<shard>.index", which lies beside the shard in any store: names, offsets, lengths
// and a CRC32C per member. docs/formats.md describes the bytes.
//
// Why: opening a shard on a server costs one read instead of a walk through all its headers, keys and names that a tar
// cannot hold come back, and damage within a member is noticed whatever its format. It has a checksum of its own.
//
// Plain values; the functions are thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

struct PortableIndex {
  static constexpr std::string_view kEnding = ".index";
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{4} << 30;
  static constexpr std::uint32_t kAllFields = 0xFFFF;  // a member that holds all fields: a record

  struct MemberName {
    std::string name;         // the ending in a tar; "record"; "rows"
    std::uint32_t field = 0;  // in the description; kAllFields
    bool operator==(const MemberName&) const = default;
  };

  std::string shard;  // its name without folders
  std::uint64_t shard_bytes = 0;
  std::uint32_t shard_checksum = 0;  // the CRC32C of the whole shard
  std::uint64_t shard_number = 0;    // from 0, over all parts
  std::uint64_t first_sample = 0;    // over all shards
  std::string description;           // PackDescription as text
  std::vector<MemberName> names;

  // One per member, in the order of the shard.
  std::vector<std::uint64_t> offsets, lengths;
  std::vector<std::uint32_t> checksums;
  std::vector<std::uint16_t> name_of_member;
  // One per sample.
  std::vector<std::uint64_t> first_members;
  std::string keys;  // concatenated, as the source has them
  std::vector<std::uint64_t> key_ends;

  std::uint64_t samples() const { return first_members.size(); }
  std::uint64_t members() const { return offsets.size(); }
  std::string_view key(std::uint64_t sample) const;

  std::vector<std::byte> serialise() const;
  // The bytes are not trusted. Errors name `uri` and the offset.
  static Result<PortableIndex> parse(ConstBytes bytes, const std::string& uri);
};

}  // namespace penstock
