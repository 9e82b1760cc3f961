#include "fetch/entries/sample_keys.h"

#include <algorithm>
#include <filesystem>

#include "base/hash.h"
#include "base/random.h"
#include "plan/sample_plan.h"
#include "source/array_layout.h"
#include "source/chunked_array.h"
#include "source/extent.h"
#include "source/source_storage.h"
#include "store/key_path.h"
#include "store/object_key.h"

namespace penstock {
namespace {

constexpr std::uint64_t kFormat = 2;  // format of entries; increased whenever the cached form of a sample changes

EntryKey mixed(const EntryKey& key, std::uint64_t number) {
  return {mix64(key.high ^ number), mix64(key.low ^ mix64(number + 1))};
}

EntryKey mixed(const EntryKey& key, std::string_view text) {
  return {hash_text(text, key.high), hash_text(text, mix64(key.low))};
}

// A relative path names different files in different folders, so the current folder is part of the key.
EntryKey mixed_path(const EntryKey& key, const std::string& path, const std::string& folder) {
  return mixed(is_absolute_key(path) ? key : mixed(key, folder), path);
}

std::string current_folder() {
  std::error_code ignored;
  return std::filesystem::current_path(ignored).string();
}

// The same bytes may be read as different types, so the type is part of the key.
EntryKey mixed_reading(EntryKey key, const FieldPlan& field, const ArrayLayout* layout) {
  key = mixed(mixed(key, static_cast<std::uint64_t>(field.kind)), static_cast<std::uint64_t>(field.form));
  if (layout == nullptr) return key;
  key = mixed(mixed(key, static_cast<std::uint64_t>(layout->spec.dtype)), layout->spec.shape.size());
  for (const std::int64_t extent : layout->spec.shape) key = mixed(key, static_cast<std::uint64_t>(extent));
  return mixed(key, (layout->fortran_order ? 2u : 0u) | (layout->swap_bytes ? 1u : 0u));
}

constexpr EntryKey kSampleEntry{kFormat, 1}, kChunkEntry{kFormat, 2};

}  // namespace

SampleKeys::SampleKeys(const SamplePlan& plan, CacheForm form)
    : source_(plan.source),
      folder_(current_folder()) {
  for (const FieldPlan& field : plan.fields) {
    Field& own = fields_.emplace_back();
    if (field.source_field < 0 || field.form == FieldForm::kIndex || field.form == FieldForm::kChunks)
      continue;
    own.source_field = field.source_field;
    own.keeps_pixels = form == CacheForm::kDecoded && field.has_lasting_pixels();
    own.key = mixed(kSampleEntry, own.keeps_pixels ? field.program.fixed_fingerprint() | 1 : 0);
    own.key =
        mixed_reading(own.key, field, source_->array_layout(static_cast<std::size_t>(field.source_field)));
    // Several fields of one record have the same extent, so the name tells them apart.
    const auto number = static_cast<std::size_t>(field.source_field);
    if (field.form == FieldForm::kRecord)
      own.key = mixed(mixed(own.key, source_->fields()[number].name), source_->record_reading(number));
  }
  for (const auto& array : source_->storage().arrays)
    array_keys_.push_back(
        mixed(mixed_path(mixed(kChunkEntry, static_cast<std::uint64_t>(form)), array->uri(), folder_),
              array->fingerprint()));
}

EntryKey SampleKeys::key_of(const Field& field, const Extent& extent) const {
  return mixed(mixed(mixed_path(field.key, object_key(extent.object), folder_), extent.offset), extent.length);
}

EntryKey SampleKeys::of(std::size_t field, const Extent& extent) const {
  return key_of(fields_[field], extent);
}

EntryKey SampleKeys::of(const ChunkId& chunk) const { return mixed(array_keys_[chunk.array], chunk.number); }

std::uint64_t SampleKeys::pictures_per_sample() const {
  std::uint64_t pictures = 0;
  for (auto field = fields_.begin(); field != fields_.end(); ++field) {
    const auto is_same = [&](const Field& other) {
      return other.source_field == field->source_field && other.key == field->key;
    };
    if (field->keeps_pixels && std::none_of(fields_.begin(), field, is_same)) ++pictures;
  }
  return pictures;
}

bool SampleKeys::every_key(std::uint64_t sample, const Look& look) const {
  for (const Field& field : fields_) {
    if (field.source_field < 0) continue;
    const auto extent = source_->extent(sample, static_cast<std::size_t>(field.source_field));
    if (!extent || !look(key_of(field, *extent))) return false;
  }
  return true;
}

void SampleKeys::every_extent(std::uint64_t sample,
                              const std::function<void(std::size_t field, const Extent&)>& look) const {
  for (std::size_t field = 0; field < fields_.size(); ++field) {
    if (fields_[field].source_field < 0) continue;
    const auto extent = source_->extent(sample, static_cast<std::size_t>(fields_[field].source_field));
    if (extent) look(field, *extent);
  }
}

std::uint64_t cache_identity(const SamplePlan& plan) {
  std::uint64_t hash = mix64(plan.source->fingerprint() ^ kFormat);
  hash = mixed_path({hash, hash}, plan.source->uri(), current_folder()).high;
  for (const FieldPlan& field : plan.fields)
    if (field.source_field >= 0 && field.form != FieldForm::kIndex)
      hash = hash_text(field.name, mix64(hash ^ field.program.fixed_fingerprint()));
  return hash;
}

}  // namespace penstock
