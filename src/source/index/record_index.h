// The location of each sample in a set of shards, as columns that are saved between runs.
//
// The index in memory is the file format: a file is used as it was read, so opening a million samples again costs
// one read and one checksum. Immutable and thread-safe; copies share the bytes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "penstock/result.h"
#include "source/index/index_growth.h"
#include "store/store.h"

namespace penstock {

// The contents of one shard as a scan finds them. A shard has samples, a sample has members, and each member is
// one field.
struct ShardContents {
  std::vector<std::uint64_t> offsets, lengths;  // one per member
  std::vector<std::uint16_t> fields;  // one per member: its position in field_names
  std::vector<std::uint64_t> first_members;  // one per sample
  std::string keys;  // the keys of all samples, concatenated
  std::vector<std::uint64_t> key_ends;
  std::vector<std::string> field_names;
  std::vector<std::uint32_t> checksums;  // of a compressed shard; see ForwardReader::checksums
  // From the index beside a packed shard: a CRC32C per member. Empty without one.
  std::vector<std::uint32_t> member_checksums;
  std::string description;                   // PackDescription as text
  std::vector<std::uint32_t> packed_fields;  // one per name in field_names: PortableIndex::MemberName::field
  IndexGrowth growth;  // is charged before anything is added here

  static constexpr std::uint64_t kBytesPerMember = 8 + 8 + 2, kBytesPerSample = 8 + 8;

  std::uint64_t samples() const { return first_members.size(); }
  bool has_member_checksums() const { return !member_checksums.empty(); }
};

struct ShardInfo {
  std::string path;
  ObjectVersion version;
  std::uint64_t first_sample = 0;
  std::span<const std::uint32_t> checksums;
  bool has_member_checksums = false;
};

class RecordIndex {
 public:
  struct Member {
    std::uint64_t offset = 0, length = 0;
    std::uint16_t field = 0;
  };

  static Result<RecordIndex> build(const std::vector<std::string>& paths,
                                   const std::vector<ObjectVersion>& versions,
                                   std::vector<ShardContents> contents);
  // Fails for a damaged, foreign or older file, and never returns part of an index.
  static Result<RecordIndex> parse(std::vector<std::byte> bytes);
  ConstBytes bytes() const { return *bytes_; }

  std::uint64_t size() const { return sample_count_; }
  const std::vector<ShardInfo>& shards() const { return shards_; }
  const std::vector<std::string>& field_names() const { return field_names_; }
  std::uint64_t samples_with(std::size_t field) const { return field_counts_[field]; }
  std::size_t shard_of(std::uint64_t sample) const;
  std::uint64_t samples_of_shard(std::size_t shard) const;
  std::string_view key(std::uint64_t sample) const;  // empty if the format does not name its samples
  std::uint64_t member_count(std::uint64_t sample) const {
    return first_members_[sample + 1] - first_members_[sample];
  }
  Member member(std::uint64_t sample, std::uint64_t number) const {
    const std::uint64_t at = first_members_[sample] + number;
    return {offsets_[at], lengths_[at], fields_[at]};
  }
  // The CRC32C of a member, where an index beside the shard has it.
  std::optional<std::uint32_t> checksum(std::uint64_t sample, std::uint64_t number) const;
  // A hash of all keys and sizes.
  std::uint64_t fingerprint() const { return fingerprint_; }
  std::uint64_t stored_bytes() const { return stored_bytes_; }

 private:
  bool has_sound_extents() const;

  std::shared_ptr<const std::vector<std::byte>> bytes_;
  std::vector<ShardInfo> shards_;
  std::vector<std::string> field_names_;
  std::uint64_t sample_count_ = 0, fingerprint_ = 0, stored_bytes_ = 0;
  std::span<const std::uint64_t> offsets_, lengths_, first_members_, key_ends_, field_counts_;
  std::span<const std::uint16_t> fields_;
  std::span<const std::uint32_t> checksums_;
  std::string_view keys_;
};

}  // namespace penstock
