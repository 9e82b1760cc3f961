#include "source/packed/portable_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/crc32c.h"
#include "source/index/columns.h"

namespace penstock {
namespace {

constexpr std::string_view kPortableMagic = "PENSPACK";
constexpr std::uint64_t kPortableVersion = 1;
constexpr std::size_t kMaxMemberNames = 65'535;

template <typename T>
void assign(std::vector<T>& out, std::span<const T> column) {
  out.assign(column.begin(), column.end());
}

bool is_rising(std::span<const std::uint64_t> values) {
  return std::ranges::adjacent_find(values, std::greater<>()) == values.end();
}

// The number of the first member that overlaps the one before it or leaves the shard; empty if there is none.
std::optional<std::size_t> first_bad_extent(const PortableIndex& index) {
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < index.offsets.size(); ++i) {
    const std::uint64_t offset = index.offsets[i], length = index.lengths[i];
    if (offset < before || length > index.shard_bytes || offset > index.shard_bytes - length) return i;
    before = offset + length;
  }
  return std::nullopt;
}

}  // namespace

std::string_view PortableIndex::key(std::uint64_t sample) const {
  const std::uint64_t begin = sample > 0 ? key_ends[sample - 1] : 0;
  return std::string_view(keys).substr(begin, key_ends[sample] - begin);
}

std::vector<std::byte> PortableIndex::serialise() const {
  ColumnWriter out;
  out.reserve(offsets.size() * 22 + first_members.size() * 16 + keys.size() + description.size() + 4096);
  out.append(kPortableMagic.data(), kPortableMagic.size());
  out.number(kPortableVersion);
  out.text(shard);
  out.number(shard_bytes);
  out.number(shard_checksum);
  out.number(shard_number);
  out.number(first_sample);
  out.text(description);
  out.number(names.size());
  out.number(samples());
  out.number(members());
  out.number(keys.size());
  for (const MemberName& name : names) {
    out.text(name.name);
    out.number(name.field);
  }
  out.column(offsets);
  out.column(lengths);
  out.column(checksums);
  out.column(name_of_member);
  out.column(first_members);
  out.column(key_ends);
  out.append(keys.data(), keys.size());
  const std::uint64_t checksum = crc32c(out.bytes());
  out.number(checksum);
  return out.take();
}

Result<PortableIndex> PortableIndex::parse(ConstBytes bytes, const std::string& uri) {
  const auto at = [&](ErrorCode code, std::string what, std::uint64_t offset, std::uint64_t length) {
    return fail(code, std::move(what), {uri, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(length), -1});
  };
  constexpr std::size_t kHead = 16, kFoot = 8;
  if (bytes.size() < kHead + kFoot || !std::ranges::equal(bytes.first(kPortableMagic.size()),
                                                          as_bytes(kPortableMagic.data(), kPortableMagic.size())))
    return at(ErrorCode::kCorrupt, "not the index of a packed shard", 0, std::min(bytes.size(), kHead));
  const auto version = ByteReader(bytes.subspan(kPortableMagic.size())).read<std::uint64_t>();
  const ConstBytes body = bytes.first(bytes.size() - kFoot);
  if (ByteReader(bytes.last(kFoot)).read<std::uint64_t>() != crc32c(body))
    return at(ErrorCode::kCorrupt, "damaged index: its checksum is wrong", 0, bytes.size());
  if (version != kPortableVersion)
    return at(ErrorCode::kUnsupported, fmt::format("index of version {}, this build reads {}", version, kPortableVersion),
              kPortableMagic.size(), 8);
  ColumnReader in(body.subspan(kHead));
  PortableIndex index;
  index.shard = in.text();
  index.shard_bytes = in.number();
  index.shard_checksum = static_cast<std::uint32_t>(in.number());
  index.shard_number = in.number();
  index.first_sample = in.number();
  index.description = in.text();
  const std::uint64_t names = in.number(), samples = in.number(), members = in.number(), key_bytes = in.number();
  const auto inconsistent = [&] { return at(ErrorCode::kCorrupt, "the index contradicts itself", kHead, body.size() - kHead); };
  if (!in.ok() || names > kMaxMemberNames || samples > body.size() || members > body.size()) return inconsistent();
  for (std::uint64_t i = 0; i < names && in.ok(); ++i) {
    MemberName name{std::string(in.text()), 0};
    const std::uint64_t field = in.number();
    if (field > kAllFields) return inconsistent();
    name.field = static_cast<std::uint32_t>(field);
    index.names.push_back(std::move(name));
  }
  assign(index.offsets, in.column<std::uint64_t>(members));
  assign(index.lengths, in.column<std::uint64_t>(members));
  assign(index.checksums, in.column<std::uint32_t>(members));
  assign(index.name_of_member, in.column<std::uint16_t>(members));
  assign(index.first_members, in.column<std::uint64_t>(samples));
  assign(index.key_ends, in.column<std::uint64_t>(samples));
  index.keys = in.text(key_bytes);
  if (!in.ok() || in.left() != 0) return inconsistent();
  const bool is_consistent =
      (samples == 0 ? members == 0 : index.first_members.front() == 0 && index.first_members.back() < members) &&
      std::ranges::adjacent_find(index.first_members, std::greater_equal<>()) == index.first_members.end() &&
      is_rising(index.key_ends) && (samples == 0 ? key_bytes == 0 : index.key_ends.back() == key_bytes) &&
      std::ranges::all_of(index.name_of_member, [&](std::uint16_t name) { return name < names; });
  if (!is_consistent) return inconsistent();
  if (const auto bad = first_bad_extent(index))
    return at(ErrorCode::kCorrupt,
              fmt::format("member {} of the index lies at {} with {} bytes, which the shard of {} bytes does not hold", *bad,
                          index.offsets[*bad], index.lengths[*bad], index.shard_bytes),
              kHead, body.size() - kHead);
  return index;
}

}  // namespace penstock
