#include "source/mds/mds_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/hash.h"
#include "base/memory/opening_memory.h"
#include "base/random.h"
#include "source/mds/mds_fields.h"
#include "source/mds/mds_index.h"
#include "source/mds/mds_shard.h"
#include "source/mds/verified_shards.h"
#include "source/records/record_source.h"
#include "store/key_path.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxCountedSamples = 8;
// Compressed bytes are not more than the raw ones by much, and the frame of zstd needs a block of them at a time.
constexpr std::uint64_t kCompressedTableBytes = 256 << 10;

// The folder of the data set, of which the request names the index or the folder itself.
std::string folder_of(const std::string& key) {
  const std::string ending = fmt::format("/{}", kMdsIndexName);
  if (key == kMdsIndexName) return ".";
  std::string folder = key.ends_with(ending) ? key.substr(0, key.size() - ending.size()) : key;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return folder;
}

std::string in_folder(const std::string& folder, std::string_view name) {
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
}

struct IndexText {
  OpeningReservation reservation;  // for the bytes
  std::vector<std::byte> bytes;
};

Result<IndexText> read_index_text(const Store& store, const std::string& key) {
  const auto version = store.stat(key);
  if (!version) return std::unexpected(version.error());
  IndexText text;
  PENSTOCK_CHECK(text.reservation.add(std::min(version->size, kMaxMdsIndexBytes), "the MDS index", {key, -1, -1, -1}));
  auto bytes = read_all(store, key, kMaxMdsIndexBytes);
  if (!bytes) return std::unexpected(std::move(bytes).error());
  text.bytes = *std::move(bytes);
  return text;
}

class MdsSource final : public RecordSource {
 public:
  MdsSource(std::shared_ptr<const Store> store, std::string uri, OpenedIndex opened, MdsIndex mds)
      : RecordSource(std::move(store), std::move(uri), std::move(opened), false),
        mds_(std::move(mds)) {}

  Status prepare(const OpenOptions& options) {
    if (options.verify_checksums) {
      auto verified = VerifiedShards::make(*storage().stores.front(), mds_);
      if (!verified) return std::unexpected(std::move(verified).error());
      verified_ = *std::move(verified);
    }
    auto fields = plan_mds_fields(mds_, options, uri(), [this](const MdsField& field) { return count_images(field); });
    if (!fields) return std::unexpected(std::move(fields).error());
    mapped_ = *std::move(fields);
    for (const MdsField& field : mapped_) fields_.push_back(field.info);
    // The whole shard is read before its first sample comes, so an order that stays with a few shards is better. It does
    // not depend on whether hashes are verified: a saved state fits both.
    const bool has_hashes = std::ranges::any_of(mds_.shards, [](const MdsShard& shard) { return !shard.raw.hashes.empty(); });
    if (has_hashes) share_units();
    return {};
  }

  std::string kind() const override { return storage().is_forward_only() ? "compressed MDS shards" : "MDS shards"; }
  std::string key(std::uint64_t sample) const override {
    const std::size_t shard = index_.shard_of(sample);
    return fmt::format("{}:{}", mds_.shards[shard].raw.name, sample - index_.shards()[shard].first_sample);
  }
  Result<Extent> extent(std::uint64_t sample, std::size_t field) const override {
    const Extent whole = extent_of(sample, 0);
    if (column_of(sample, mapped_[field]) >= 0) return whole;
    Where where = where_of(whole);
    where.sample = static_cast<std::int64_t>(sample);
    return fail(ErrorCode::kNotFound, fmt::format("the shard has no column \"{}\"", mapped_[field].info.name), where);
  }

  Result<OpenedRecord> open_record(std::uint64_t sample, std::span<const std::byte> stored,
                                   const Charge& charge) const override {
    if (verified_) PENSTOCK_CHECK(verified_->check(index_, index_.shard_of(sample), sample, stored, charge));
    return OpenedRecord{stored, nullptr};
  }

  Result<RecordValue> find_in_record(std::uint64_t sample, std::size_t field, const OpenedRecord& record,
                                     const Allocate& allocate) const override {
    const MdsField& mapped = mapped_[field];
    const auto stored = stored_value(sample, mapped, record.bytes);
    if (!stored) return std::unexpected(stored.error());
    if (mapped.images > 0) return read_image(mapped, *stored, allocate);
    auto value = read_mds_value(mapped.encoding, *stored, allocate);
    if (!value || !mapped.elements) return value;
    if (value->bytes.size() != mapped.elements->bytes())
      return fail(ErrorCode::kShapeMismatch, fmt::format("column \"{}\" has {} bytes, its type says {}", mapped.info.name,
                                                         value->bytes.size(), mapped.elements->bytes()));
    value->elements = mapped.elements;
    return value;
  }

  std::uint64_t record_reading(std::size_t field) const override {
    const MdsField& mapped = mapped_[field];
    std::uint64_t hash = mix64(static_cast<std::uint64_t>(mapped.encoding.form) << 16 |
                               static_cast<std::uint64_t>(mapped.encoding.kind) << 8 |
                               (mapped.elements ? static_cast<std::uint64_t>(mapped.elements->dtype) + 1 : 0));
    hash = mix64(hash ^ mapped.image);
    if (mapped.elements)
      for (const std::int64_t extent : mapped.elements->shape) hash = mix64(hash ^ static_cast<std::uint64_t>(extent));
    return hash_text(mapped.info.name, hash);
  }

 private:
  const std::vector<MdsColumn>& columns_of(std::uint64_t sample) const {
    return mds_.layouts[mds_.shards[index_.shard_of(sample)].layout];
  }
  int column_of(std::uint64_t sample, const MdsField& field) const {
    return field.columns[mds_.shards[index_.shard_of(sample)].layout];
  }

  Result<ConstBytes> stored_value(std::uint64_t sample, const MdsField& field, ConstBytes record) const {
    return find_mds_column(columns_of(sample), static_cast<std::size_t>(column_of(sample, field)), record);
  }

  static Result<RecordValue> read_image(const MdsField& field, ConstBytes stored, const Allocate& allocate) {
    const auto count = count_mds_images(field.encoding, stored);
    if (!count) return std::unexpected(count.error());
    // Images that have no field would be lost in silence.
    if (*count > field.images)
      return fail(ErrorCode::kShapeMismatch, fmt::format("{} images, where the first samples have at most {} (field \"{}\")",
                                                         *count, field.images, field.info.name));
    return read_mds_image(field.encoding, stored, field.image, allocate);
  }

  // The most images that the first samples have. A damaged one is skipped here, because reading it reports the damage.
  Result<std::uint32_t> count_images(const MdsField& field) const {
    std::vector<Extent> extents;
    std::vector<std::uint64_t> samples;
    for (std::uint64_t sample = 0; sample < size() && samples.size() < kMaxCountedSamples; ++sample) {
      if (column_of(sample, field) < 0) continue;
      samples.push_back(sample);
      extents.push_back(extent_of(sample, 0));
    }
    std::uint32_t most = 0;
    std::optional<Error> first_error;
    bool is_counted = false;
    read_each(extents, [&](std::size_t i, const Result<ConstBytes>& record) {
      const auto stored = record ? stored_value(samples[i], field, *record) : record;
      const auto count = stored ? count_mds_images(field.encoding, *stored) : std::unexpected(stored.error());
      if (!count) {
        if (!first_error) first_error = count.error();
        return;
      }
      is_counted = true;
      most = std::max(most, *count);
    });
    if (!is_counted && first_error) {
      if (first_error->where.uri.empty()) first_error->where = where_of(extents.front());
      return std::unexpected(*first_error);
    }
    return most;
  }

  const MdsIndex mds_;
  std::unique_ptr<VerifiedShards> verified_;  // nullptr: hashes are not verified
  std::vector<MdsField> mapped_;              // in the order of fields_
};

// How a shard is compressed follows from its name wherever it is read, so the two may not contradict one another.
Status check_names(const MdsIndex& mds, const std::string& index_key) {
  for (const MdsShard& shard : mds.shards)
    if ((compression_of_name(shard.stored().name) != Compression::kNone) != shard.compressed.has_value())
      return fail(ErrorCode::kUnsupported,
                  fmt::format("the name of the shard {} does not say how it is compressed", shard.stored().name),
                  {index_key, -1, -1, -1});
  return {};
}

// The index of samples was saved by an earlier run, and index.json may be another one since then.
Status check_agreement(const RecordIndex& index, const MdsIndex& mds, const std::string& index_key) {
  for (std::size_t i = 0; i < mds.shards.size(); ++i)
    if (index.samples_of_shard(i) != mds.shards[i].samples || index.shards()[i].version.size != mds.shards[i].stored().size_bytes)
      return fail(ErrorCode::kCorrupt,
                  fmt::format("the shard {} has {} bytes and {} samples, {} says {} and {}", index.shards()[i].path,
                              index.shards()[i].version.size, index.samples_of_shard(i), kMdsIndexName,
                              mds.shards[i].stored().size_bytes, mds.shards[i].samples),
                  {index_key, -1, -1, -1});
  return {};
}

}  // namespace

bool is_mds_index_name(std::string_view name) { return name == kMdsIndexName; }

Result<bool> is_mds(const Store& store, const std::string& path) {
  const auto text = read_index_text(store, in_folder(path, kMdsIndexName));
  if (text) return is_mds_index(text->bytes);
  if (text.error().code == ErrorCode::kNotFound || text.error().code == ErrorCode::kTooLarge) return false;
  return std::unexpected(text.error());
}

Result<SourcePtr> open_mds(OpenRequest request, const OpenOptions& options) {
  if (request.paths.size() != 1)
    return fail(ErrorCode::kUnsupported, "an MDS data set is one folder; open each of several and mix them", {request.uri, -1, -1, -1});
  const std::string folder = absolute_key(folder_of(request.paths.front()));
  const std::string index_key = in_folder(folder, kMdsIndexName);
  const auto text = read_index_text(*request.store, index_key);
  if (!text) return std::unexpected(text.error());
  auto mds = parse_mds_index(text->bytes, index_key);
  if (!mds) return std::unexpected(std::move(mds).error());
  PENSTOCK_CHECK(check_names(*mds, index_key));

  ShardSet shards{request.uri, index_key, "mds", {}, {}};
  std::unordered_map<std::string, const MdsShard*> by_path;
  for (const MdsShard& shard : mds->shards) {
    shards.paths.push_back(in_folder(folder, shard.stored().name));
    const std::uint64_t table_bytes = mds_table_bytes(shard.samples) + (shard.compressed ? kCompressedTableBytes : 0);
    shards.declared.push_back({shard.stored().size_bytes, table_bytes});
    if (!by_path.emplace(shards.paths.back(), &shard).second)
      return fail(ErrorCode::kCorrupt, fmt::format("the MDS index names the shard {} twice", shard.stored().name), {index_key, -1, -1, -1});
  }
  auto opened = open_shard_index(*request.store, shards, options,
                                 [&](ForwardReader& reader, const std::string& path, ShardContents& out) {
                                   return scan_mds_shard(reader, path, *by_path.at(path), out);
                                 });
  if (!opened) return std::unexpected(std::move(opened).error());
  if (!options.on_bad_shard) PENSTOCK_CHECK(check_agreement(opened->index, *mds, index_key));
  if (opened->index.size() == 0) return fail(ErrorCode::kNotFound, "the MDS data set has no samples", {index_key, -1, -1, -1});
  auto source = std::make_shared<MdsSource>(std::move(request.store), request.uri, std::move(*opened), *std::move(mds));
  PENSTOCK_CHECK(source->prepare(options));
  return source;
}

}  // namespace penstock
