#include "fetch/bytes/store_bytes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "plan/sample_reads.h"
#include "source/extent.h"
#include "source/source_storage.h"
#include "store/store.h"

namespace penstock {

StoreBytes::StoreBytes(const SamplePlan& plan, Scratch& scratch, StageClock& clock, ReadOrigin& origin)
    : plan_(plan),
      stored_fields_(stored_fields(plan)),
      scratch_(scratch),
      clock_(clock),
      origin_(origin) {}

// Opens the object and checks that it is the version that was indexed. If the index was saved earlier and the file was
// rewritten before this loader was opened, the index is out of date; it is then discarded.
Result<Object*> StoreBytes::open(const Extent& extent) {
  if (extent.shared_object)
    if (Object* opened = find_open(extent)) return opened;
  auto object = extent.store->open(extent.object);
  if (!object) return std::unexpected(std::move(object).error());
  const ObjectVersion found = (*object)->version(), indexed{extent.object_bytes, extent.modified_ns};
  if (extent.modified_ns != Extent::kUnknown && found != indexed) {
    // With an outdated index, the samples of a shard are at other offsets now. A file of one sample is still that
    // sample and can be used.
    const bool index_is_old = plan_.source->storage().index_was_saved && found.modified_ns < plan_.opened_at_ns;
    if (index_is_old) plan_.source->storage().discard_indexes();
    if (!index_is_old || extent.shared_object)
      return fail(ErrorCode::kChanged,
                  fmt::format("file changed while in use ({} bytes now, {} when it was indexed)", found.size,
                              indexed.size));
  }
  if (!extent.shared_object) {
    object_ = std::move(*object);
    return object_.get();
  }
  if (shared_objects_.size() >= plan_.max_open_objects) shared_objects_.clear();
  OpenedObject& opened = shared_objects_[extent.object];
  opened = {std::move(*object), epoch_};
  return opened.object.get();
}

Object* StoreBytes::find_open(const Extent& extent) {
  const auto found = shared_objects_.find(extent.object);
  if (found == shared_objects_.end()) return nullptr;
  OpenedObject& opened = found->second;
  if (opened.epoch != epoch_) {
    const auto now = extent.store->stat(extent.object);
    if (!now || !now->is_exactly(opened.object->version())) {
      shared_objects_.erase(found);
      return nullptr;
    }
    opened.epoch = epoch_;
  }
  return opened.object.get();
}

Status StoreBytes::check_unchanged(const Object& object) const {
  const auto now = object.version_now();
  if (!now) return std::unexpected(now.error());
  if (*now == object.version()) return {};
  return fail(ErrorCode::kChanged,
              fmt::format("file changed while in use ({} bytes now, {} when it was opened)", now->size,
                          object.version().size));
}

Result<MutableBytes> StoreBytes::buffer(std::uint64_t bytes) {
  const auto memory = scratch_.get(kScratchEncoded, std::max<std::uint64_t>(bytes, 1));
  if (!memory) return memory;
  return memory->first(bytes);
}

Result<RecordValue> StoreBytes::read(const FieldRead& wanted, const Extent& extent) {
  if (!stretch_.holds(extent)) {
    stretch_ = {};
    PENSTOCK_CHECK(extent.shared_object ? read_stretch(wanted, extent) : read_file(extent));
    ++origin_.reads;
    clock_.mark(Stage::kRead, stretch_.bytes.size());
  }
  if (!extent.shared_object) origin_.where.length = static_cast<std::int64_t>(stretch_.bytes.size());
  return RecordValue{stretch_.bytes_of(extent), std::nullopt};
}

Status StoreBytes::read_file(const Extent& extent) {
  auto object = open(extent);
  if (!object) return std::unexpected(std::move(object).error());
  origin_.version = (*object)->version();
  const std::uint64_t length = origin_.version.size;
  origin_.where.length = static_cast<std::int64_t>(length);
  PENSTOCK_CHECK(check_encoded_bytes(length));
  if (length == 0) return fail(ErrorCode::kTruncated, "empty file");
  const auto memory = buffer(length);
  if (!memory) return std::unexpected(memory.error());
  PENSTOCK_CHECK((*object)->read_at(0, *memory));
  stretch_ = {extent.object, 0, *memory};
  return {};
}

// All fields of the sample that lie close together are read at once.
Status StoreBytes::read_stretch(const FieldRead& wanted, const Extent& extent) {
  const ByteRange range = stretch_of(*plan_.source, stored_fields_, wanted.sample, extent);
  auto object = open(extent);
  if (!object) return std::unexpected(std::move(object).error());
  const auto memory = buffer(range.length);
  if (!memory) return std::unexpected(memory.error());
  PENSTOCK_CHECK((*object)->read_at(range.offset, *memory));
  PENSTOCK_CHECK(check_unchanged(**object));
  origin_.version = (*object)->version();
  stretch_ = {extent.object, range.offset, *memory};
  return {};
}

Result<bool> StoreBytes::read_into(const FieldRead&, const Extent& extent,
                                   std::span<const MutableBytes> parts) {
  std::uint64_t bytes = 0;
  for (const MutableBytes part : parts) bytes += part.size();
  auto object = open(extent);
  if (!object) return std::unexpected(std::move(object).error());
  // A file that is one sample may have become longer or shorter since it was indexed.
  if (!extent.shared_object && (*object)->version().size != bytes) return false;
  PENSTOCK_CHECK((*object)->read_at(extent.offset, parts));
  if (extent.shared_object) PENSTOCK_CHECK(check_unchanged(**object));
  return true;
}

void StoreBytes::end_sample() {
  object_.reset();
  stretch_.bytes = {};
}

}  // namespace penstock
