#include "source/mds/verified_shards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/crc32c.h"
#include "penstock/interruption.h"
#include "source/mds/shard_hash.h"
#include "source/records/ahead_object.h"
#include "source/records/forward_reader.h"

namespace penstock {
namespace {

constexpr std::uint64_t kVerifiedPieceBytes = 256 << 10;
constexpr std::uint64_t kVerifyAheadBytes = 8 << 20;  // from slow stores

std::unexpected<Error> hash_differs(const std::string& path, std::uint64_t size, const MdsHash& expected, const std::string& found) {
  return fail(ErrorCode::kCorrupt,
              fmt::format("the shard's {} is {}, {} says {}: its bytes are not those that were written", expected.algorithm,
                          found, kMdsIndexName, expected.digest),
              {path, 0, static_cast<std::int64_t>(size), -1});
}

// Calls `take` with all bytes of the reader, piece by piece, and returns their number.
template <typename Take>
Result<std::uint64_t> read_through(ForwardReader& reader, const std::string& path, Take take) {
  std::uint64_t at = 0;
  while (true) {
    PENSTOCK_CHECK(check_interruption(path));
    const auto piece = reader.at(at, kVerifiedPieceBytes);
    if (!piece) return std::unexpected(piece.error());
    if (piece->empty()) return at;
    take(at, *piece);
    at += piece->size();
  }
}

// The CRC32C of each sample of a shard, whose bytes come piece by piece.
class SampleChecksums {
 public:
  SampleChecksums(const RecordIndex& index, std::size_t shard)
      : index_(index),
        first_(index.shards()[shard].first_sample),
        checksums_(index.samples_of_shard(shard)) {}

  void take(std::uint64_t offset, ConstBytes piece) {
    const std::uint64_t end = offset + piece.size();
    while (next_ < checksums_.size()) {
      const auto sample = index_.member(first_ + next_, 0);
      const std::uint64_t from = std::max(sample.offset, offset), to = std::min(sample.offset + sample.length, end);
      if (from < to)
        checksums_[next_] = crc32c(piece.subspan(static_cast<std::size_t>(from - offset), static_cast<std::size_t>(to - from)),
                                   checksums_[next_]);
      if (sample.offset + sample.length > end) return;
      ++next_;
    }
  }
  std::vector<std::uint32_t> result() { return std::move(checksums_); }

 private:
  const RecordIndex& index_;
  const std::uint64_t first_;
  std::vector<std::uint32_t> checksums_;
  std::size_t next_ = 0;  // the first sample that is not complete
};

Result<std::unique_ptr<Object>> open_unchanged(const Store& store, const ShardInfo& indexed) {
  auto object = open_ahead(store, indexed.path, kVerifyAheadBytes);
  if (!object || (*object)->version() == indexed.version) return object;
  return fail(ErrorCode::kChanged, "shard changed since it was indexed",
              {indexed.path, 0, static_cast<std::int64_t>((*object)->version().size), -1});
}

}  // namespace

Result<std::unique_ptr<VerifiedShards>> VerifiedShards::make(const Store& store, const MdsIndex& mds) {
  std::unique_ptr<VerifiedShards> verified(new VerifiedShards(store));
  for (const MdsShard& indexed : mds.shards) {
    auto shard = std::make_unique<Shard>();
    const MdsHash* hash = fastest_known(indexed.raw.hashes);
    if (hash == nullptr && indexed.compressed) {
      hash = fastest_known(indexed.compressed->hashes);
      shard->hash_is_of_stored = hash != nullptr;
    }
    if (hash == nullptr && !(indexed.raw.hashes.empty() && indexed.stored().hashes.empty())) {
      std::vector<std::string> names;
      for (const MdsHash& unknown : indexed.raw.hashes) names.push_back(unknown.algorithm);
      return fail(ErrorCode::kUnsupported,
                  fmt::format("the hashes of the shards ({}) are none that this build computes; verify=False reads them "
                              "unverified",
                              fmt::join(names, ", ")),
                  {indexed.stored().name, -1, -1, -1});
    }
    if (hash != nullptr) shard->hash = *hash;
    verified->shards_.push_back(std::move(shard));
  }
  return verified;
}

bool VerifiedShards::has_any() const {
  return std::ranges::any_of(shards_, [](const auto& shard) { return shard->hash.has_value(); });
}

Status VerifiedShards::verify(const RecordIndex& index, std::size_t number, Shard& shard) const {
  const ShardInfo& info = index.shards()[number];
  const MdsHash& expected = *shard.hash;
  const auto hash = make_shard_hash(expected.algorithm);
  auto object = open_unchanged(store_, info);
  if (!object) return std::unexpected(std::move(object).error());
  if (shard.hash_is_of_stored) {
    const auto size = read_through(*make_object_reader(**object), info.path,
                                   [&](std::uint64_t, ConstBytes piece) { hash->update(piece); });
    if (!size) return std::unexpected(size.error());
    if (const std::string found = hash->digest(); found != expected.digest)
      return hash_differs(info.path, *size, expected, found);
    object = open_unchanged(store_, info);
    if (!object) return std::unexpected(std::move(object).error());
  }
  SampleChecksums checksums(index, number);
  const auto reader = make_forward_reader(**object, info.path, compression_of_name(info.path));
  const auto size = read_through(*reader, info.path, [&](std::uint64_t offset, ConstBytes piece) {
    if (!shard.hash_is_of_stored) hash->update(piece);
    checksums.take(offset, piece);
  });
  if (!size) return std::unexpected(size.error());
  if (!shard.hash_is_of_stored)
    if (const std::string found = hash->digest(); found != expected.digest)
      return hash_differs(info.path, *size, expected, found);
  const auto now = (*object)->version_now();
  if (now && *now != info.version)
    return fail(ErrorCode::kChanged, "shard changed while it was verified", {info.path, 0, static_cast<std::int64_t>(*size), -1});
  shard.checksums = checksums.result();
  shard.is_verified = true;
  return {};
}

Status VerifiedShards::check(const RecordIndex& index, std::size_t number, std::uint64_t sample, ConstBytes stored,
                             const std::function<Status(std::uint64_t bytes)>& charge) const {
  Shard& shard = *shards_[number];
  if (!shard.hash) return {};
  std::uint32_t expected = 0;
  {
    const MutexLock lock(shard.mutex);
    if (shard.damage) return std::unexpected(*shard.damage);
    if (!shard.is_verified) {
      PENSTOCK_CHECK(charge(memory_of_reader(compression_of_name(index.shards()[number].path))));
      if (const Status verified = verify(index, number, shard); !verified) {
        // Damage does not heal. Anything else, such as a server that does not answer, may.
        if (verified.error().code == ErrorCode::kCorrupt || verified.error().code == ErrorCode::kTruncated)
          shard.damage = verified.error();
        return verified;
      }
    }
    expected = shard.checksums[sample - index.shards()[number].first_sample];
  }
  if (crc32c(stored) == expected) return {};
  return fail(ErrorCode::kCorrupt, "the sample's bytes are not those that the hash of its shard was verified with");
}

}  // namespace penstock
