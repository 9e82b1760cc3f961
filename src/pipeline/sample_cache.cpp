#include "pipeline/sample_cache.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/checked_math.h"
#include "base/hash.h"
#include "pipeline/sample_worker.h"
#include "source/chunked_array.h"
#include "transform/op.h"

namespace penstock {
namespace {

constexpr std::uint64_t kFormat = 1;  // of entries: another where what is kept of a sample changes

EntryKey mixed(const EntryKey& key, std::uint64_t number) {
  return {mix64(key.high ^ number), mix64(key.low ^ mix64(number + 1))};
}

EntryKey mixed(const EntryKey& key, std::string_view text) {
  return {hash_text(text, key.high), hash_text(text, mix64(key.low))};
}

// A path that does not begin at the root is another one elsewhere.
EntryKey mixed_path(const EntryKey& key, const std::string& path, const std::string& folder) {
  const bool is_whole = path.starts_with('/') || path.find("://") != std::string::npos;
  return mixed(is_whole ? key : mixed(key, folder), path);
}

std::string current_folder() {
  std::error_code ignored;
  return std::filesystem::current_path(ignored).string();
}

// The same bytes may be read as one thing here and as another there.
EntryKey mixed_reading(EntryKey key, const FieldPlan& field, const ArrayLayout* layout) {
  key = mixed(mixed(key, static_cast<std::uint64_t>(field.kind)), static_cast<std::uint64_t>(field.form));
  if (layout == nullptr) return key;
  key = mixed(mixed(key, static_cast<std::uint64_t>(layout->spec.dtype)), layout->spec.shape.size());
  for (const std::int64_t extent : layout->spec.shape) key = mixed(key, static_cast<std::uint64_t>(extent));
  return mixed(key, (layout->fortran_order ? 2u : 0u) | (layout->swap_bytes ? 1u : 0u));
}

std::uint32_t next_mark() {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

constexpr EntryKey kSampleEntry{kFormat, 1}, kChunkEntry{kFormat, 2};

// What a damaged entry says of itself must not lead outside its bytes.
bool is_sound(const EntryHead& head, const EntryKey& key, std::uint64_t entry_bytes) {
  if (head.key != key || head.bytes != entry_bytes - sizeof(EntryHead)) return false;
  if (head.has_spec == 0) return true;
  if (head.rank > head.shape.size() || head.dtype > DType::kComplex128) return false;
  std::optional<std::uint64_t> bytes = size_of(head.dtype);
  for (std::size_t axis = 0; axis < head.rank && bytes; ++axis)
    bytes = head.shape[axis] < 0 ? std::nullopt
                                 : checked_multiply(*bytes, static_cast<std::uint64_t>(head.shape[axis]));
  return bytes == head.bytes;
}

}  // namespace

SampleCache::SampleCache(std::shared_ptr<const TieredCache> cache, const SamplePlan& plan, CacheForm form)
    : cache_(std::move(cache)),
      source_(plan.source),
      form_(form),
      own_mark_(next_mark()),
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
    // Several fields of one record have the same bytes.
    const auto number = static_cast<std::size_t>(field.source_field);
    if (field.form == FieldForm::kRecord)
      own.key = mixed(mixed(own.key, source_->fields()[number].name), source_->reading(number));
  }
  for (const auto& array : source_->chunked_arrays())
    array_keys_.push_back(
        mixed(mixed_path(mixed(kChunkEntry, static_cast<std::uint64_t>(form)), array->uri(), folder_),
              array->fingerprint()));
}

EntryKey SampleCache::sample_key(const Field& field, const Extent& extent) const {
  return mixed(mixed(mixed_path(field.key, extent.object, folder_), extent.offset), extent.length);
}

SampleCache::Subject SampleCache::subject(std::size_t field, const Extent& extent) const {
  const Store& store = source_->store();
  Subject subject{sample_key(fields_[field], extent), store, extent.object, std::nullopt, false};
  if (extent.modified_ns != Extent::kUnknown)
    subject.indexed = ObjectVersion{extent.object_bytes, extent.modified_ns};
  // A server is not asked about every object: the index of its shards was compared when it was opened.
  subject.is_asked_for = store.reads_ahead() == 0 && (source_->index_was_kept() || !subject.indexed);
  return subject;
}

EntryKey SampleCache::chunk_key(const ChunkId& chunk) const {
  return mixed(array_keys_[chunk.array], chunk.number);
}

SampleCache::Subject SampleCache::subject(const ChunkId& chunk, const std::string& object) const {
  const Store& store = source_->chunked_arrays()[chunk.array]->store();
  return {chunk_key(chunk), store, object, std::nullopt, store.reads_ahead() == 0};
}

std::optional<ArraySpec> SampleCache::Value::spec() const {
  if (head.has_spec == 0) return std::nullopt;
  return ArraySpec{head.dtype, {head.shape.begin(), head.shape.begin() + head.rank}};
}

bool SampleCache::is_current(const Subject& subject, const EntryHead& head,
                             std::atomic<std::uint32_t>& checked) const {
  const ObjectVersion made_from{head.object_bytes, head.modified_ns};
  if (!subject.is_asked_for) return !subject.indexed || made_from == *subject.indexed;
  if (checked.load(std::memory_order_relaxed) == own_mark_) return true;
  const auto now = subject.store.stat(subject.object);
  if (!now || *now != made_from) return false;
  checked.store(own_mark_, std::memory_order_relaxed);
  return true;
}

std::optional<SampleCache::Value> SampleCache::find(const Subject& subject, const CacheTier::Room& room,
                                                    CacheCounters& counters) const {
  const Clock::time_point began = Clock::now();
  if (auto hit = cache_->find(subject.key, room)) {
    const ConstBytes entry = hit->found.bytes;
    Value value;
    if (entry.size() >= sizeof(EntryHead)) std::memcpy(&value.head, entry.data(), sizeof(EntryHead));
    if (is_sound(value.head, subject.key, entry.size()) &&
        is_current(subject, value.head, *hit->found.checked)) {
      value.bytes = entry.subspan(sizeof(EntryHead));
      value.held = std::move(hit->found.held);
      CacheCounters::Tier& tier = counters.tiers[hit->tier];
      tier.hits.add(1);
      tier.bytes.add(value.bytes.size());
      const auto took = cost_since(began);
      tier.saved_nanoseconds.add(value.head.cost_ns - std::min(value.head.cost_ns, took));
      return value;
    }
    cache_->withdraw(subject.key);
  }
  counters.misses.add(1);
  return std::nullopt;
}

Result<bool> SampleCache::add(const Subject& subject, const ObjectVersion& version, std::uint64_t bytes,
                              const Fill& fill, const CacheTier::Room& room) const {
  const auto write = [&](MutableBytes entry) -> Status {
    EntryHead head;
    head.key = subject.key;
    head.bytes = bytes;
    head.object_bytes = version.size;
    head.modified_ns = version.modified_ns;
    PENSTOCK_CHECK(fill(entry.subspan(sizeof(EntryHead)), head));
    std::memcpy(entry.data(), &head, sizeof(EntryHead));
    return {};
  };
  return cache_->add(subject.key, sizeof(EntryHead) + bytes, write, room);
}

void SampleCache::start_epoch(std::uint64_t samples) {
  const auto pictures = std::ranges::count_if(fields_, [](const Field& field) { return field.keeps_pixels; });
  admission_.start(samples * static_cast<std::uint64_t>(pictures));
}

bool SampleCache::wants_pixels(double share, std::uint64_t bytes) const {
  return admission_.lets_in(share, bytes, cache_->free_bytes());
}

bool SampleCache::has_sample(std::uint64_t sample) const {
  for (const Field& field : fields_) {
    if (field.source_field < 0) continue;
    const auto extent = source_->extent(sample, static_cast<std::size_t>(field.source_field));
    if (!extent || !cache_->has(sample_key(field, *extent))) return false;
  }
  return true;
}

void SampleCache::expect_sample(std::uint64_t sample) const {
  for (const Field& field : fields_) {
    if (field.source_field < 0) continue;
    if (const auto extent = source_->extent(sample, static_cast<std::size_t>(field.source_field)))
      cache_->expect(sample_key(field, *extent));
  }
}

CacheTier::Room room_for_kept(Scratch& scratch) {
  return [&scratch](std::size_t bytes) -> Result<MutableBytes> {
    const auto memory = scratch.get(kScratchCached, bytes);
    if (!memory) return memory;
    return memory->first(bytes);
  };
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
