#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/interruption.h"

namespace penstock {
namespace {

constexpr std::uint64_t kPieceBytes = 16 << 20;  // large enough to be read over several connections

}  // namespace

Result<KeyKind> Store::kind_of(const std::string& key) const {
  const auto object = open(key);
  if (object) return KeyKind::kObject;
  if (traits().can_list) {
    const auto folder = list_pages(key, {}, [](Listing) -> Result<bool> { return false; });
    if (folder) return KeyKind::kFolder;
    if (folder.error().code != ErrorCode::kNotFound) return std::unexpected(folder.error());
  }
  if (object.error().code == ErrorCode::kNotFound) return KeyKind::kNothing;
  return std::unexpected(object.error());
}

Result<Listing> Store::list(const std::string& key, const ListOptions& options) const {
  Listing all;
  const auto listed = list_pages(key, options, [&](Listing page) -> Result<bool> {
    PENSTOCK_CHECK(check_interruption(key));
    if (all.empty()) {
      all = std::move(page);
      return true;
    }
    for (FolderEntry& entry : page) PENSTOCK_CHECK(all.add(std::move(entry), key));
    return true;
  });
  if (!listed) return std::unexpected(listed.error());
  all.sort_by_name();
  return all;
}

Result<std::unique_ptr<ObjectWriter>> Store::create(const std::string& key, const CreateOptions&) const {
  return fail(ErrorCode::kUnsupported, "this store cannot be written to", {key, -1, -1, -1});
}

Result<ObjectBytes> Store::read(const ObjectRead& wanted, const Allocate& allocate) const {
  if (wanted.only_version) {
    const auto version = stat(wanted.key);
    if (!version) return std::unexpected(version.error());
    return ObjectBytes{{}, 0, *version};
  }
  auto object = open(wanted.key);
  if (!object) return std::unexpected(std::move(object).error());
  const ObjectVersion version = (*object)->version();
  if (wanted.version && *wanted.version != version)
    return fail(ErrorCode::kChanged,
                fmt::format("object changed while in use ({} bytes now, {} before)", version.size,
                            wanted.version->size),
                {wanted.key, 0, static_cast<std::int64_t>(version.size), -1});
  const ByteRange& range = wanted.range;
  std::uint64_t offset = range.offset, length = range.length;
  if (range.from_end) {
    length = std::min(length, version.size);
    offset = version.size - length;
  } else if (range.length == ByteRange::kToTheEnd) {
    length = version.size - std::min(offset, version.size);
  }
  const Where where{wanted.key, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(length), -1};
  if (length > wanted.max_bytes)
    return fail(ErrorCode::kTooLarge, fmt::format("{} bytes, at most {} expected", length, wanted.max_bytes),
                where);
  if (offset > version.size || length > version.size - offset)
    return fail(ErrorCode::kTruncated,
                fmt::format("object ends at {} bytes, {} expected", version.size, offset + length), where);
  const auto memory = allocate(length);
  if (!memory) return std::unexpected(memory.error());
  const MutableBytes bytes = memory->first(length);
  PENSTOCK_CHECK((*object)->read_at(offset, bytes));
  return ObjectBytes{bytes, offset, version};
}

void Store::start_read(ObjectRead wanted, Allocate allocate, std::stop_token, Done done) const {
  done(read(wanted, allocate));
}

ObjectRead version_read(std::string key) {
  ObjectRead read;
  read.key = std::move(key);
  read.range = {0, 0, false};
  read.only_version = true;
  return read;
}

Result<std::vector<std::byte>> read_all(const Store& store, const std::string& key, std::uint64_t limit) {
  auto object = store.open(key);
  if (!object) return std::unexpected(std::move(object).error());
  const std::uint64_t size = (*object)->version().size;
  if (size > limit)
    return fail(ErrorCode::kTooLarge, fmt::format("{} bytes, at most {} allowed", size, limit),
                {key, 0, static_cast<std::int64_t>(size), -1});
  // Memory is touched only as bytes arrive, because a server may claim any size.
  std::vector<std::byte> bytes;
  bytes.reserve(size);
  while (bytes.size() < size) {
    const std::size_t begin = bytes.size();
    bytes.resize(begin + std::min<std::uint64_t>(size - begin, kPieceBytes));
    PENSTOCK_CHECK((*object)->read_at(begin, MutableBytes(bytes).subspan(begin)));
  }
  return bytes;
}

}  // namespace penstock
