#include "source/index/record_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/byte_reader.h"
#include "base/checked_math.h"
#include "base/crc32c.h"
#include "base/hash.h"
#include "penstock/interruption.h"
#include "source/index/columns.h"
#include "source/records/forward_reader.h"

namespace penstock {
namespace {

constexpr std::string_view kRecordIndexMagic = "PENSREC3";
constexpr std::size_t kMaxIndexFields = 4096;
// The checksums of all members, with zeros for shards that have none; nothing where no shard has any.
void write_checksums(const std::vector<ShardContents>& contents, std::uint64_t members, ColumnWriter& out) {
  std::vector<std::uint32_t> column;
  if (std::ranges::any_of(contents, &ShardContents::has_member_checksums)) {
    column.reserve(members);
    for (const ShardContents& shard : contents) {
      column.insert(column.end(), shard.member_checksums.begin(), shard.member_checksums.end());
      if (!shard.has_member_checksums()) column.resize(column.size() + shard.offsets.size());
    }
  }
  out.number(column.size());
  out.column(column);
}

bool is_ascending(std::span<const std::uint64_t> values) {
  return std::ranges::adjacent_find(values, std::greater<>()) == values.end();
}

}  // namespace

Result<RecordIndex> RecordIndex::build(const std::vector<std::string>& paths,
                                       const std::vector<ObjectVersion>& versions,
                                       std::vector<ShardContents> contents) {
  // Each shard numbers its fields independently. Here they get common numbers.
  std::vector<std::string> names;
  std::vector<std::uint64_t> counts;
  std::uint64_t samples = 0, members = 0, key_bytes = 0;
  for (ShardContents& shard : contents) {
    std::vector<std::uint16_t> common_number;
    for (const std::string& name : shard.field_names) {
      const auto found = std::ranges::find(names, name);
      common_number.push_back(static_cast<std::uint16_t>(found - names.begin()));
      if (found == names.end()) {
        if (names.size() >= kMaxIndexFields)
          return fail(ErrorCode::kTooLarge, fmt::format("more than {} fields over all shards", kMaxIndexFields));
        names.push_back(name);
        counts.push_back(0);
      }
    }
    for (std::uint16_t& field : shard.fields) ++counts[field = common_number[field]];
    samples += shard.samples();
    members += shard.offsets.size();
    key_bytes += shard.keys.size();
  }

  ColumnWriter out;
  out.reserve(members * 18 + samples * 16 + key_bytes + paths.size() * 256 + 4096);
  out.append(kRecordIndexMagic.data(), kRecordIndexMagic.size());
  out.number(contents.size());
  out.number(names.size());
  out.number(samples);
  out.number(members);
  out.number(key_bytes);
  for (std::size_t i = 0; i < contents.size(); ++i) {
    out.text(paths[i]);
    out.number(versions[i].size);
    out.number(static_cast<std::uint64_t>(versions[i].modified_ns));
    out.number(contents[i].samples());
    out.number(contents[i].checksums.size());
    out.column(contents[i].checksums);
    out.number(contents[i].has_member_checksums() ? 1 : 0);
  }
  for (const std::string& name : names) out.text(name);
  out.column(counts);

  std::uint64_t fingerprint = 0, stored = 0;
  std::vector<std::uint64_t> column;
  column.reserve(std::max(samples + 1, members));
  const auto write = [&](auto fill) {
    column.clear();
    for (ShardContents& shard : contents) fill(shard);
    out.column(column);
  };
  write([&](const ShardContents& shard) {
    column.insert(column.end(), shard.offsets.begin(), shard.offsets.end());
  });
  write([&](const ShardContents& shard) {
    column.insert(column.end(), shard.lengths.begin(), shard.lengths.end());
    for (const std::uint64_t length : shard.lengths) {
      fingerprint = mix64(fingerprint ^ length);
      stored += length;
    }
  });
  // A pass over a hundred million members takes a moment, so an interruption is checked between the passes.
  PENSTOCK_CHECK(check_interruption({}));
  std::uint64_t before = 0;
  column.clear();
  for (const ShardContents& shard : contents) {
    for (const std::uint64_t first : shard.first_members) column.push_back(before + first);
    before += shard.offsets.size();
  }
  column.push_back(members);
  out.column(column);
  before = 0;
  column.clear();
  if (key_bytes > 0)
    for (const ShardContents& shard : contents) {
      std::uint64_t begin = 0;
      for (const std::uint64_t end : shard.key_ends) {
        column.push_back(before + end);
        fingerprint = hash_text(std::string_view(shard.keys).substr(begin, end - begin), fingerprint);
        begin = end;
      }
      before += shard.keys.size();
    }
  out.column(column);
  PENSTOCK_CHECK(check_interruption({}));
  std::vector<std::uint16_t> fields;
  fields.reserve(members);
  for (const ShardContents& shard : contents)
    fields.insert(fields.end(), shard.fields.begin(), shard.fields.end());
  out.column(fields);
  std::string keys;
  keys.reserve(key_bytes);
  for (const ShardContents& shard : contents) keys += shard.keys;
  out.append(keys.data(), keys.size());
  write_checksums(contents, members, out);
  for (const std::string& name : names) fingerprint = hash_text(name, fingerprint);
  out.number(fingerprint);
  out.number(stored);
  contents.clear();
  PENSTOCK_CHECK(check_interruption({}));
  const std::uint64_t checksum = crc32c(out.bytes());
  out.number(checksum);
  return parse(out.take());
}

Result<RecordIndex> RecordIndex::parse(std::vector<std::byte> bytes) {
  const auto damaged = [] { return fail(ErrorCode::kCorrupt, "damaged index"); };
  if (bytes.size() < kRecordIndexMagic.size() + 8 || std::memcmp(bytes.data(), kRecordIndexMagic.data(), kRecordIndexMagic.size()) != 0)
    return damaged();
  RecordIndex index;
  index.bytes_ = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const ConstBytes whole = *index.bytes_, body = whole.first(whole.size() - 8);
  if (ByteReader(whole.last(8)).read<std::uint64_t>() != crc32c(body)) return damaged();
  ColumnReader in(body);
  in.text(kRecordIndexMagic.size());
  const std::uint64_t shards = in.number(), fields = in.number(), samples = in.number(),
                      members = in.number(), key_bytes = in.number();
  if (shards > body.size() || fields > kMaxIndexFields || samples > body.size() || members > body.size())
    return damaged();
  for (std::uint64_t i = 0; i < shards && in.ok(); ++i) {
    ShardInfo shard;
    shard.path = in.text();
    shard.version.size = in.number();
    shard.version.modified_ns = static_cast<std::int64_t>(in.number());
    shard.first_sample = index.sample_count_;
    const std::uint64_t count = in.number();
    if (count > samples - index.sample_count_) return damaged();
    index.sample_count_ += count;
    shard.checksums = in.column<std::uint32_t>(in.number());
    shard.has_member_checksums = in.number() != 0;
    index.shards_.push_back(std::move(shard));
  }
  for (std::uint64_t i = 0; i < fields && in.ok(); ++i) index.field_names_.emplace_back(in.text());
  index.field_counts_ = in.column<std::uint64_t>(fields);
  index.offsets_ = in.column<std::uint64_t>(members);
  index.lengths_ = in.column<std::uint64_t>(members);
  index.first_members_ = in.column<std::uint64_t>(samples + 1);
  index.key_ends_ = in.column<std::uint64_t>(key_bytes > 0 ? samples : 0);
  index.fields_ = in.column<std::uint16_t>(members);
  index.keys_ = in.text(key_bytes);
  const std::uint64_t checksums = in.number();
  index.checksums_ = in.column<std::uint32_t>(checksums);
  index.fingerprint_ = in.number();
  index.stored_bytes_ = in.number();
  if (!in.ok() || in.left() != 0 || index.sample_count_ != samples) return damaged();
  const bool consistent =
      index.first_members_.front() == 0 && index.first_members_.back() == members &&
      std::ranges::adjacent_find(index.first_members_, std::greater_equal<>()) ==
          index.first_members_.end() &&
      (checksums == members || (checksums == 0 && std::ranges::none_of(index.shards_, &ShardInfo::has_member_checksums))) &&
      is_ascending(index.key_ends_) && (index.key_ends_.empty() || index.key_ends_.back() == key_bytes) &&
      std::ranges::all_of(index.fields_, [&](std::uint16_t field) { return field < fields; });
  if (!consistent || !index.has_sound_extents()) return damaged();
  return index;
}

// Whether the members of each shard follow one another without overlap.
bool RecordIndex::has_sound_extents() const {
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    const std::uint64_t first = shards_[shard].first_sample, last = first + samples_of_shard(shard);
    // The uncompressed size of a compressed shard is not known here.
    const bool is_plain = compression_of_name(shards_[shard].path) == Compression::kNone;
    const std::uint64_t end = is_plain ? shards_[shard].version.size : std::uint64_t{1} << 62;
    std::uint64_t before = 0;
    for (std::uint64_t at = first_members_[first]; at < first_members_[last]; ++at) {
      if (offsets_[at] < before || lengths_[at] > end || offsets_[at] > end - lengths_[at]) return false;
      before = offsets_[at] + lengths_[at];
    }
  }
  return true;
}

std::size_t RecordIndex::shard_of(std::uint64_t sample) const {
  // An empty shard begins at the same sample as the next one, so the last shard that begins there has the
  // sample.
  const auto after = std::ranges::upper_bound(shards_, sample, {}, &ShardInfo::first_sample);
  return static_cast<std::size_t>(after - shards_.begin()) - 1;
}

std::uint64_t RecordIndex::samples_of_shard(std::size_t shard) const {
  const std::uint64_t end = shard + 1 < shards_.size() ? shards_[shard + 1].first_sample : sample_count_;
  return end - shards_[shard].first_sample;
}

std::string_view RecordIndex::key(std::uint64_t sample) const {
  if (key_ends_.empty()) return {};
  const std::uint64_t begin = sample > 0 ? key_ends_[sample - 1] : 0;
  return keys_.substr(begin, key_ends_[sample] - begin);
}

std::optional<std::uint32_t> RecordIndex::checksum(std::uint64_t sample, std::uint64_t number) const {
  if (checksums_.empty() || !shards_[shard_of(sample)].has_member_checksums) return std::nullopt;
  return checksums_[first_members_[sample] + number];
}

}  // namespace penstock
