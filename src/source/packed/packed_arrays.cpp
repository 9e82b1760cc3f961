#include "source/packed/packed_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "source/array_layout.h"
#include "source/extent.h"
#include "source/files/npy_file.h"
#include "source/packed/read_portable_index.h"
#include "source/source_storage.h"

namespace penstock {
namespace {

constexpr std::uint64_t kRowUnitBytes = 1 << 20;  // neighbouring samples of this size are read together

struct RowFile {
  std::string key;
  ObjectVersion version;
  std::uint64_t data_offset = 0;
  std::vector<std::uint32_t> checksums;  // one per row
};

struct RowShard {
  std::uint64_t first_sample = 0, samples = 0;
  std::vector<RowFile> files;  // one per field
  std::string keys;
  std::vector<std::uint64_t> key_ends;
};

class PackedArrays final : public Source {
 public:
  PackedArrays(std::shared_ptr<const Store> store, std::string uri, PackDescription description,
               std::vector<RowShard> shards, bool verify)
      : store_(std::move(store)),
        uri_(std::move(uri)),
        description_(std::move(description)),
        shards_(std::move(shards)),
        verify_(verify) {
    for (const PackedField& field : description_.fields) {
      fields_.push_back({field.name, field.kind, FieldForm::kElements, true, field.is_class, field.keeps_type});
      ArrayLayout layout;
      layout.spec = *field.elements;
      layout.is_time = field.is_time;
      row_bytes_.push_back(layout.spec.bytes());
      sample_bytes_ += row_bytes_.back();
      fingerprint_ = hash_text(field.name, mix64(fingerprint_ ^ row_bytes_.back()));
      layouts_.push_back(std::move(layout));
    }
    for (const RowShard& shard : shards_) {
      fingerprint_ = hash_text(shard.keys, mix64(fingerprint_ ^ shard.samples));
      for (const RowFile& file : shard.files) storage_.stored_bytes += file.version.size;
    }
    storage_.stores = {store_};
    storage_.unit_samples = std::max<std::uint64_t>(1, kRowUnitBytes / std::max<std::uint64_t>(sample_bytes_, 1));
  }

  std::uint64_t size() const override { return description_.samples; }
  const std::vector<FieldInfo>& fields() const override { return fields_; }
  std::string kind() const override { return "packed npy arrays"; }
  std::string uri() const override { return uri_; }
  const std::vector<std::string>& classes() const override { return description_.classes; }
  std::uint64_t fingerprint() const override { return fingerprint_; }
  const SourceStorage& storage() const override { return storage_; }
  std::uint64_t stored_bytes_of(std::uint64_t) const override { return sample_bytes_; }
  const ArrayLayout* array_layout(std::size_t field) const override { return &layouts_[field]; }

  std::string key(std::uint64_t sample) const override {
    const RowShard& shard = shard_of(sample);
    const std::uint64_t row = sample - shard.first_sample, begin = row > 0 ? shard.key_ends[row - 1] : 0;
    return shard.keys.substr(begin, shard.key_ends[row] - begin);
  }

  Result<Extent> extent(std::uint64_t sample, std::size_t field) const override {
    const RowShard& shard = shard_of(sample);
    const std::uint64_t row = sample - shard.first_sample;
    const RowFile& file = shard.files[field];
    return Extent{file.key,
                  file.data_offset + row * row_bytes_[field],
                  row_bytes_[field],
                  file.version.modified_ns,
                  file.version.size,
                  true,
                  -1,
                  store_.get(),
                  verify_ ? std::optional(file.checksums[row]) : std::nullopt};
  }

 private:
  const RowShard& shard_of(std::uint64_t sample) const {
    return *std::prev(std::ranges::upper_bound(shards_, sample, {}, &RowShard::first_sample));
  }

  std::shared_ptr<const Store> store_;
  std::string uri_;
  PackDescription description_;
  std::vector<RowShard> shards_;
  bool verify_;
  std::vector<FieldInfo> fields_;
  std::vector<ArrayLayout> layouts_;
  std::vector<std::uint64_t> row_bytes_;
  std::uint64_t sample_bytes_ = 0, fingerprint_ = 0;
  SourceStorage storage_;
};

Result<RowFile> open_row_file(const Store& store, const std::string& key, const PackedField& field,
                              const std::string& description, RowShard& shard) {
  const auto file = open_npy_file(store, key, key);
  if (!file) return std::unexpected(file.error());
  Shape rows = field.elements->shape;
  rows.insert(rows.begin(), static_cast<std::int64_t>(shard.samples));
  const NpyHeader& header = file->header;
  if (header.array != ArraySpec{field.elements->dtype, rows} || header.fortran_order || header.big_endian)
    return fail(ErrorCode::kChanged, "the array is not the one that the manifest of the packed data set describes",
                {key, 0, static_cast<std::int64_t>(header.data_offset), -1});
  auto index = read_index_of_pack(store, key, file->version, description);
  if (!index) return std::unexpected(std::move(index).error());
  PENSTOCK_CHECK(check_rows(**index, header, portable_index_of(key)));
  if (shard.key_ends.empty()) {
    shard.keys = std::move((*index)->keys);
    shard.key_ends = std::move((*index)->key_ends);
  }
  return RowFile{key, file->version, header.data_offset, std::move((*index)->checksums)};
}

}  // namespace

Status check_rows(const PortableIndex& index, const NpyHeader& header, const std::string& uri) {
  const std::uint64_t rows = static_cast<std::uint64_t>(header.array.shape.front());
  const std::uint64_t row_bytes = rows == 0 ? 0 : header.data_bytes() / rows;
  bool are_rows = index.samples() == rows && index.members() == rows;
  for (std::uint64_t row = 0; are_rows && row < rows; ++row)
    are_rows = index.first_members[row] == row && index.lengths[row] == row_bytes &&
               index.offsets[row] == header.data_offset + row * row_bytes;
  if (are_rows) return {};
  return fail(ErrorCode::kCorrupt, fmt::format("the index does not describe the {} rows of its array", rows),
              {uri, -1, -1, -1});
}

Result<SourcePtr> open_packed_arrays(std::shared_ptr<const Store> store, const std::string& uri, const std::string& folder,
                                     const PackManifest& manifest, const OpenOptions& options) {
  const PackDescription& description = manifest.description;
  const auto bad = [&](std::string what) { return fail(ErrorCode::kCorrupt, std::move(what), {uri, -1, -1, -1}); };
  if (description.fields.empty() || description.samples == 0) return bad("a packed data set without fields or samples");
  for (const PackedField& field : description.fields)
    if (!field.elements) return bad(fmt::format("field \"{}\" has no type and shape", field.name));
  if (!options.field_kinds.empty())
    return fail(ErrorCode::kInvalidArgument, "the kinds of packed arrays are known; kinds= has no use", {uri, -1, -1, -1});
  const std::string text = description.to_text();
  std::vector<RowShard> shards;
  for (const PackManifest::Shard& listed : manifest.shards) {
    RowShard shard{listed.first_sample, listed.samples, {}, {}, {}};
    if (listed.files.size() != description.fields.size()) return bad("a shard of a packed data set lacks the files of fields");
    for (std::size_t field = 0; field < listed.files.size(); ++field) {
      auto file = open_row_file(*store, folder + "/" + listed.files[field].name, description.fields[field], text, shard);
      if (!file) return std::unexpected(std::move(file).error());
      shard.files.push_back(std::move(*file));
    }
    if (shard.samples > 0) shards.push_back(std::move(shard));
  }
  return std::make_shared<PackedArrays>(std::move(store), uri, description, std::move(shards), options.verify_checksums);
}

}  // namespace penstock
