#include "source/packed/check_packed.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crc32c.h"
#include "penstock/interruption.h"
#include "source/packed/open_packed.h"
#include "source/packed/portable_index.h"

namespace penstock {
namespace {

constexpr std::uint64_t kCheckedAtATime = 4 << 20;

class FileChecks {
 public:
  FileChecks(const Store& store, const std::function<bool(std::uint64_t)>& progress, PackedCheck& out)
      : store_(store),
        progress_(progress),
        out_(out),
        buffer_(kCheckedAtATime) {}

  // Fails only if the check is stopped; `bytes`, if not nullptr, receives the file.
  Status check(const std::string& key, std::uint64_t size, std::uint32_t checksum, std::vector<std::byte>* bytes) {
    ++out_.files;
    const Status status = compare(key, size, checksum, bytes);
    if (status) return {};
    if (status.error().code == ErrorCode::kStopped) return status;
    out_.bad.push_back(status.error());
    if (bytes != nullptr) bytes->clear();
    return {};
  }

 private:
  Status compare(const std::string& key, std::uint64_t size, std::uint32_t checksum, std::vector<std::byte>* bytes) {
    auto object = store_.open(key);
    if (!object) return std::unexpected(std::move(object).error());
    const std::uint64_t found = (*object)->version().size;
    if (found != size)
      return fail(found < size ? ErrorCode::kTruncated : ErrorCode::kChanged,
                  fmt::format("{} bytes, the manifest says {}", found, size),
                  {key, static_cast<std::int64_t>(std::min(found, size)),
                   static_cast<std::int64_t>(found < size ? size - found : found - size), -1});
    std::uint32_t crc = 0;
    for (std::uint64_t at = 0; at < size;) {
      PENSTOCK_CHECK(check_interruption(key));
      const MutableBytes piece = MutableBytes(buffer_).first(std::min(size - at, kCheckedAtATime));
      PENSTOCK_CHECK((*object)->read_at(at, piece));
      crc = crc32c(piece, crc);
      if (bytes != nullptr) bytes->insert(bytes->end(), piece.begin(), piece.end());
      at += piece.size();
      out_.bytes += piece.size();
      if (progress_ && !progress_(out_.bytes)) return fail(ErrorCode::kStopped, "stopped", {key, -1, -1, -1});
    }
    if (crc == checksum) return {};
    return fail(ErrorCode::kCorrupt,
                fmt::format("damaged: the file has the CRC32C {:08x}, the manifest says {:08x}", crc, checksum),
                {key, 0, static_cast<std::int64_t>(size), -1});
  }

  const Store& store_;
  const std::function<bool(std::uint64_t)>& progress_;
  PackedCheck& out_;
  std::vector<std::byte> buffer_;
};

}  // namespace

Result<PackedCheck> check_packed(const Store& store, const std::string& folder,
                                 const std::function<bool(std::uint64_t bytes)>& progress) {
  const auto manifest = read_pack_manifest(store, folder);
  if (!manifest) return std::unexpected(manifest.error());
  const std::string description = manifest->description.to_text();
  PackedCheck out;
  FileChecks checks(store, progress, out);
  for (const PackManifest::Shard& shard : manifest->shards)
    for (const PackManifest::File& file : shard.files) {
      PENSTOCK_CHECK(checks.check(folder + "/" + file.name, file.bytes, file.checksum, nullptr));
      std::vector<std::byte> bytes;
      const std::string key = folder + "/" + file.index;
      PENSTOCK_CHECK(checks.check(key, file.index_bytes, file.index_checksum, &bytes));
      if (bytes.empty()) continue;
      const auto index = PortableIndex::parse(bytes, key);
      if (!index)
        out.bad.push_back(index.error());
      else if (index->shard != file.name || index->samples() != shard.samples || index->description != description)
        out.bad.push_back({ErrorCode::kChanged, "the index is not the one that the manifest means", {key, -1, -1, -1}});
    }
  return out;
}

}  // namespace penstock
