#include "fetch/chunks/chunk_reader.h"

namespace penstock {

ChunkReader::ChunkReader(const Source& source, Scratch& scratch, StageClock& clock, const SampleCache* cache)
    : source_(source),
      clock_(clock),
      store_(scratch),
      ahead_(scratch, store_),
      first_(&ahead_) {
  if (cache == nullptr) return;
  cached_ = std::make_unique<CachedChunks>(*cache, scratch, clock, ahead_);
  first_ = cached_.get();
}

void ChunkReader::turn_to(const SharedReads& shared) {
  indexes_ = shared.ahead();
  first_->turn_to(shared);
}

Result<ChunkLocation> ChunkReader::locate(const ChunkId& chunk) const {
  const ChunkedArray& array = *source_.storage().arrays[chunk.array];
  if (indexes_ != nullptr) PENSTOCK_CHECK(indexes_->bring_indexes(array, chunk.number));
  return array.location(chunk.number);
}

Result<ChunkReader::Stored> ChunkReader::read(const ChunkId& chunk, MutableBytes whole) {
  const auto found = locate(chunk);
  if (!found) return std::unexpected(found.error());
  if (found->is_missing) return Stored{{}, true};
  return ask({chunk, *source_.storage().arrays[chunk.array], found->read, std::nullopt, whole});
}

Result<ChunkReader::Stored> ChunkReader::read_part(const ChunkId& chunk, std::size_t first_byte, MutableBytes part) {
  const auto found = locate(chunk);
  if (!found) return std::unexpected(found.error());
  if (found->is_missing) return Stored{{}, true};
  ChunkRead wanted{chunk, *source_.storage().arrays[chunk.array], found->read, part};
  wanted.read.range.offset += first_byte;
  wanted.read.range.length = wanted.read.max_bytes = part.size();
  return ask(std::move(wanted));
}

Result<ChunkReader::Stored> ChunkReader::ask(ChunkRead wanted) {
  const ByteRange& range = wanted.read.range;
  where_ = {wanted.read.key, static_cast<std::int64_t>(range.offset),
            range.length == ByteRange::kToTheEnd ? -1 : static_cast<std::int64_t>(range.length), -1};
  const auto got = first_->read(wanted);
  if (!got && got.error().code == ErrorCode::kNotFound) return Stored{{}, true};
  if (!got) {
    if (got.error().code == ErrorCode::kChanged) wanted.array.discard_index(wanted.chunk.number);
    return std::unexpected(got.error());
  }
  version_ = got->version;
  where_.length = static_cast<std::int64_t>(got->bytes.size());
  clock_.mark(Stage::kRead, got->bytes.size());
  return Stored{got->bytes, false};
}

}  // namespace penstock
