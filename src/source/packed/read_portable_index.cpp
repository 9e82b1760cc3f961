#include "source/packed/read_portable_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/memory/opening_memory.h"

namespace penstock {
namespace {

bool means_absent(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.code == ErrorCode::kNoAccess ||
         error.code == ErrorCode::kUnsupported;
}

}  // namespace

std::string portable_index_of(const std::string& shard) { return shard + std::string(PortableIndex::kEnding); }

Result<bool> has_portable_index(const Store& store, const std::string& shard) {
  const auto version = store.stat(portable_index_of(shard));
  if (version) return true;
  if (means_absent(version.error())) return false;
  return std::unexpected(version.error());
}

Result<std::optional<PortableIndex>> read_portable_index(const Store& store, const std::string& shard,
                                                         const ObjectVersion& version) {
  const std::string key = portable_index_of(shard);
  auto object = store.open(key);
  if (!object) {
    if (means_absent(object.error())) return std::nullopt;
    return std::unexpected(std::move(object).error());
  }
  const std::uint64_t size = (*object)->version().size;
  if (size > PortableIndex::kMaxBytes)
    return fail(ErrorCode::kTooLarge,
                fmt::format("the index beside a shard has {} bytes, at most {} are read", size, PortableIndex::kMaxBytes),
                {key, -1, -1, -1});
  OpeningReservation reservation;
  PENSTOCK_CHECK(reservation.add(2 * size, "the index beside a shard", {key, 0, static_cast<std::int64_t>(size), -1}));
  std::vector<std::byte> bytes(size);
  PENSTOCK_CHECK((*object)->read_at(0, bytes));
  auto index = PortableIndex::parse(bytes, key);
  if (!index) return std::unexpected(std::move(index).error());
  const std::string_view name = std::string_view(shard).substr(shard.rfind('/') + 1);
  if (index->shard != name)
    return fail(ErrorCode::kChanged,
                fmt::format("this is the index of {}, not of {} (a shard that is renamed needs its index deleted; it is "
                            "then indexed anew)",
                            index->shard, name),
                {key, 0, static_cast<std::int64_t>(size), -1});
  if (index->shard_bytes != version.size)
    return fail(ErrorCode::kChanged,
                fmt::format("the index does not fit its shard: it describes {} bytes, the shard has {}",
                            index->shard_bytes, version.size),
                {key, 0, static_cast<std::int64_t>(size), -1});
  return std::optional(std::move(*index));
}

Result<std::optional<PortableIndex>> read_index_of_pack(const Store& store, const std::string& shard,
                                                        const ObjectVersion& version, const std::string& description) {
  auto index = read_portable_index(store, shard, version);
  if (!index) return index;
  const Where where{portable_index_of(shard), -1, -1, -1};
  if (!*index)
    return fail(ErrorCode::kNotFound, "the index beside a shard of a packed data set is missing", where);
  if ((*index)->description != description)
    return fail(ErrorCode::kChanged, "this shard is of another data set than the manifest of its folder", where);
  return index;
}

Status take_contents(PortableIndex index, ShardContents& out) {
  PENSTOCK_CHECK(out.growth.add(index.members() * (ShardContents::kBytesPerMember + sizeof(std::uint32_t)) +
                                    index.samples() * ShardContents::kBytesPerSample + index.keys.size(),
                                0, index.shard_bytes));
  for (const PortableIndex::MemberName& name : index.names) {
    out.field_names.push_back(name.name);
    out.packed_fields.push_back(name.field);
  }
  out.description = std::move(index.description);
  out.offsets = std::move(index.offsets);
  out.lengths = std::move(index.lengths);
  out.fields = std::move(index.name_of_member);
  out.member_checksums = std::move(index.checksums);
  out.first_members = std::move(index.first_members);
  out.keys = std::move(index.keys);
  out.key_ends = std::move(index.key_ends);
  return {};
}

}  // namespace penstock
