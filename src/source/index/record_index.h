// Where each sample of a set of shards stands: the columns of an index that is kept between runs.
//
// An index is its own file format: what is read from disk is used in place, so opening a million
// samples again costs one read and one checksum. Immutable; copies share the bytes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "penstock/result.h"
#include "source/index/index_growth.h"
#include "store/store.h"

namespace penstock {

// What a scan finds in one shard: samples, each made of members, each of which is one field.
struct ShardContents {
  std::vector<std::uint64_t> offsets, lengths;  // of each member
  std::vector<std::uint16_t> fields;            // of each member: its place in field_names
  std::vector<std::uint64_t> first_members;     // of each sample
  std::string keys;                             // of all samples, one after another
  std::vector<std::uint64_t> key_ends;
  std::vector<std::string> field_names;
  std::vector<std::uint32_t> checksums;  // of a compressed shard (ForwardReader::checksums)
  IndexGrowth growth;                    // told of all that is put here, before it is

  static constexpr std::uint64_t kBytesPerMember = 8 + 8 + 2, kBytesPerSample = 8 + 8;

  std::uint64_t samples() const { return first_members.size(); }
};

struct ShardInfo {
  std::string path;
  ObjectVersion version;
  std::uint64_t first_sample = 0;
  std::span<const std::uint32_t> checksums;
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
  // A damaged, foreign or older one is an error, never half an index.
  static Result<RecordIndex> parse(std::vector<std::byte> bytes);
  ConstBytes bytes() const { return *bytes_; }

  std::uint64_t size() const { return sample_count_; }
  const std::vector<ShardInfo>& shards() const { return shards_; }
  const std::vector<std::string>& field_names() const { return field_names_; }
  std::uint64_t samples_with(std::size_t field) const { return field_counts_[field]; }
  std::size_t shard_of(std::uint64_t sample) const;
  std::uint64_t samples_of_shard(std::size_t shard) const;
  std::string_view key(std::uint64_t sample) const;  // empty where the format has no names
  std::uint64_t member_count(std::uint64_t sample) const {
    return first_members_[sample + 1] - first_members_[sample];
  }
  Member member(std::uint64_t sample, std::uint64_t number) const {
    const std::uint64_t at = first_members_[sample] + number;
    return {offsets_[at], lengths_[at], fields_[at]};
  }
  // A hash of keys and sizes.
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
  std::string_view keys_;
};

}  // namespace penstock
