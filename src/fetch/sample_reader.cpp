#include "fetch/sample_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "plan/sample_reads.h"
#include "source/extent.h"

namespace penstock {
namespace {

std::unexpected<Error> too_large(std::uint64_t length) {
  return fail(ErrorCode::kTooLarge,
              fmt::format("{} bytes in one sample, at most {} allowed", length, Limits{}.encoded_bytes));
}

}  // namespace

SampleReader::SampleReader(Setup setup, Scratch& scratch, StageClock& clock, const SharedReads& shared)
    : setup_(std::move(setup)),
      scratch_(scratch),
      clock_(clock),
      shared_(shared) {}

// Opens the object and makes sure that it is the one that was indexed. Where the index is an old
// one and the file was rewritten before this loader began, the index is to blame, not the file.
Result<Object*> SampleReader::open(const Extent& extent) {
  where_ = where_of(extent);
  if (extent.shared_object)
    if (Object* kept = find_open(extent)) return kept;
  auto object = extent.store->open(extent.object);
  if (!object) return std::unexpected(std::move(object).error());
  const ObjectVersion found = (*object)->version(), indexed{extent.object_bytes, extent.modified_ns};
  if (extent.modified_ns != Extent::kUnknown && found != indexed) {
    // A shard whose index is old has its samples elsewhere now; a file is still one sample.
    const bool index_is_old = setup_.source.storage().index_was_saved && found.modified_ns < setup_.opened_at_ns;
    if (index_is_old) setup_.source.storage().discard_indexes();
    if (!index_is_old || extent.shared_object)
      return fail(ErrorCode::kChanged,
                  fmt::format("file changed while in use ({} bytes now, {} when it was indexed)", found.size,
                              indexed.size));
  }
  if (!extent.shared_object) {
    object_ = std::move(*object);
    return object_.get();
  }
  if (shared_objects_.size() >= setup_.max_open_objects) shared_objects_.clear();
  OpenedObject& kept = shared_objects_[extent.object];
  kept = {std::move(*object), shared_.epoch};
  return kept.object.get();
}

// One that is still open may have been replaced under its name since the last epoch.
Object* SampleReader::find_open(const Extent& extent) {
  const auto found = shared_objects_.find(extent.object);
  if (found == shared_objects_.end()) return nullptr;
  OpenedObject& kept = found->second;
  if (kept.epoch != shared_.epoch) {
    const auto now = extent.store->stat(extent.object);
    if (!now || !now->is_exactly(kept.object->version())) {
      shared_objects_.erase(found);
      return nullptr;
    }
    kept.epoch = shared_.epoch;
  }
  return kept.object.get();
}

// An object that stays open is looked at after each read.
Status SampleReader::check_unchanged(const Object& object) const {
  const auto now = object.version_now();
  if (!now) return std::unexpected(now.error());
  if (*now == object.version()) return {};
  return fail(ErrorCode::kChanged,
              fmt::format("file changed while in use ({} bytes now, {} when it was opened)", now->size,
                          object.version().size));
}

Result<ConstBytes> SampleReader::read(const Extent& extent, std::uint64_t sample) {
  where_ = where_of(extent);
  if (extent.length > Limits{}.encoded_bytes) return too_large(extent.length);
  if (extent.block >= 0) return read_block(extent);
  if (shared_.lookahead != nullptr && shared_.lookahead->ahead() != nullptr && extent.store->reads_ahead() > 0)
    return read_from_ahead(extent, sample);
  return extent.shared_object ? read_stretch(extent, sample) : read_file(extent);
}

Result<bool> SampleReader::read_into(const Extent& extent, std::span<const MutableBytes> parts) {
  std::uint64_t bytes = 0;
  for (const MutableBytes part : parts) bytes += part.size();
  auto object = open(extent);
  if (!object) return std::unexpected(std::move(object).error());
  // A whole file is as long as it is now: open() has accepted it.
  if (!extent.shared_object && (*object)->version().size != bytes) return false;
  PENSTOCK_CHECK((*object)->read_at(extent.offset, parts));
  if (extent.shared_object) PENSTOCK_CHECK(check_unchanged(**object));
  return true;
}

void SampleReader::end_sample() {
  object_.reset();
  block_.reset();
  held_.reset();
  stretch_ = {};
}

Result<ConstBytes> SampleReader::read_block(const Extent& extent) {
  if (!block_ || block_->number != static_cast<std::size_t>(extent.block)) {
    block_.reset();  // before another is asked for
    auto block = shared_.streams->get(static_cast<std::size_t>(extent.block));
    if (!block) return std::unexpected(std::move(block).error());
    block_ = std::move(*block);
    ++reads_;
  }
  version_ = block_->version;
  clock_.mark(Stage::kRead, extent.length);
  return ConstBytes(block_->bytes).subspan(extent.offset - block_->begin_byte, extent.length);
}

Result<ConstBytes> SampleReader::read_file(const Extent& extent) {
  // Two fields of the sample may be made from one file.
  if (stretch_object_ == extent.object && !stretch_.empty()) {
    where_.length = static_cast<std::int64_t>(stretch_.size());
    return stretch_;
  }
  auto object = open(extent);
  if (!object) return std::unexpected(std::move(object).error());
  version_ = (*object)->version();
  const std::uint64_t length = version_.size;
  where_.length = static_cast<std::int64_t>(length);
  if (length > Limits{}.encoded_bytes) return too_large(length);
  if (length == 0) return fail(ErrorCode::kTruncated, "empty file");
  stretch_ = {};
  const auto buffer = scratch_.get(kScratchEncoded, length);
  if (!buffer) return std::unexpected(buffer.error());
  PENSTOCK_CHECK((*object)->read_at(0, *buffer));
  ++reads_;
  clock_.mark(Stage::kRead, length);
  stretch_ = buffer->first(length);
  stretch_object_ = extent.object;
  stretch_begin_ = 0;
  return stretch_;
}

// All fields of a sample that stand close together are read at once.
Result<ConstBytes> SampleReader::read_stretch(const Extent& extent, std::uint64_t sample) {
  const auto within = [&] {
    return stretch_object_ == extent.object && extent.offset >= stretch_begin_ &&
           extent.offset + extent.length <= stretch_begin_ + stretch_.size() && !stretch_.empty();
  };
  if (!within()) {
    const ByteRange range = stretch_of(setup_.source, setup_.stored_fields, sample, extent);
    auto object = open(extent);
    if (!object) return std::unexpected(std::move(object).error());
    const auto buffer = scratch_.get(kScratchEncoded, std::max<std::uint64_t>(range.length, 1));
    if (!buffer) return std::unexpected(buffer.error());
    stretch_ = {};
    const MutableBytes stretch = buffer->first(range.length);
    PENSTOCK_CHECK((*object)->read_at(range.offset, stretch));
    PENSTOCK_CHECK(check_unchanged(**object));
    version_ = (*object)->version();
    stretch_ = stretch;
    stretch_object_ = extent.object;
    stretch_begin_ = range.offset;
    ++reads_;
    clock_.mark(Stage::kRead, stretch.size());
  }
  return stretch_.subspan(extent.offset - stretch_begin_, extent.length);
}

// The same where the store is read ahead: what was asked for long before is here by now.
Result<ConstBytes> SampleReader::read_from_ahead(const Extent& extent, std::uint64_t sample) {
  const ObjectRead wanted = read_of(setup_.source, setup_.stored_fields, sample, extent);
  const bool has_it = stretch_object_ == wanted.key && stretch_begin_ == wanted.range.offset &&
                      !stretch_.empty() && (!extent.shared_object || stretch_.size() == wanted.range.length);
  if (!has_it) {
    stretch_ = {};
    held_.reset();
    ReadAhead& ahead = *shared_.lookahead->ahead();
    if (auto taken = ahead.take(wanted)) {
      if (!*taken) return std::unexpected(std::move(*taken).error());
      stretch_ = (*taken)->bytes;
      held_ = std::move((*taken)->memory);
      version_ = (*taken)->version;
    } else {
      const auto got =
          ahead.read(*extent.store, wanted, [&](std::size_t bytes) -> Result<MutableBytes> {
            const auto buffer = scratch_.get(kScratchEncoded, std::max<std::size_t>(bytes, 1));
            if (!buffer) return std::unexpected(buffer.error());
            return buffer->first(bytes);
          });
      if (!got) return std::unexpected(got.error());
      stretch_ = got->bytes;
      version_ = got->version;
    }
    stretch_object_ = wanted.key;
    stretch_begin_ = wanted.range.offset;
    ++reads_;
    clock_.mark(Stage::kRead, stretch_.size());
  }
  if (!extent.shared_object) {
    where_.length = static_cast<std::int64_t>(stretch_.size());
    if (stretch_.empty()) return fail(ErrorCode::kTruncated, "empty file");
    return stretch_;
  }
  return stretch_.subspan(extent.offset - stretch_begin_, extent.length);
}

}  // namespace penstock
