#include "sample/chunks/chunk_decoder.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {

ChunkDecoder::ChunkDecoder(const Source& source, Scratch& scratch, StageClock& clock, const SampleCache* cache)
    : source_(source),
      scratch_(scratch),
      clock_(clock),
      reader_(source, scratch, clock, cache),
      codecs_(scratch, kScratchCodec) {}

void ChunkDecoder::turn_to(const SharedReads& shared) {
  lookahead_ = shared.lookahead;
  reader_.turn_to(shared);
}

void ChunkDecoder::end_chunk() {
  reader_.end_chunk();
  codecs_.end_sample();
  scratch_.end_sample();
}

Status ChunkDecoder::decode(const ChunkId& chunk, MutableBytes out) {
  const ChunkedArray& array = *source_.storage().arrays[chunk.array];
  const auto stored = reader_.read(chunk, array.is_plain() ? out : MutableBytes());
  if (!stored) return std::unexpected(stored.error());
  was_missing_ = stored->is_missing;
  const bool is_in_place = stored->bytes.data() == out.data() && stored->bytes.size() == out.size();
  if (was_missing_) {
    PENSTOCK_CHECK(array.fill_missing(chunk.number, out));
  } else if (is_in_place) {
    // The stored bytes are the decoded ones, and they were read to where they belong.
  } else if (auto decoded = array.decode(chunk.number, stored->bytes, out, codecs_); !decoded) {
    return describe(chunk, std::move(decoded).error());
  }
  clock_.mark(Stage::kDecode, out.size());
  count(chunk, out.size());
  return {};
}

Result<ConstBytes> ChunkDecoder::decode_part(const ChunkId& chunk, std::size_t first_byte, std::size_t bytes) {
  const ChunkedArray& array = *source_.storage().arrays[chunk.array];
  const auto memory = scratch_.get(kScratchChunk, bytes);
  if (!memory) return std::unexpected(memory.error());
  MutableBytes part = memory->first(bytes);
  const bool reads_part = array.is_plain() && reader_.reads_parts();
  const auto stored = reads_part ? reader_.read_part(chunk, first_byte, part) : reader_.read(chunk);
  if (!stored) return std::unexpected(stored.error());
  was_missing_ = stored->is_missing;
  if (was_missing_) {
    const auto whole = scratch_.get(kScratchChunk, array.chunk_bytes(chunk.number));
    if (!whole) return std::unexpected(whole.error());
    PENSTOCK_CHECK(array.fill_missing(chunk.number, whole->first(array.chunk_bytes(chunk.number))));
    part = whole->subspan(first_byte, bytes);
  } else if (!reads_part) {
    if (auto decoded = array.decode_part(chunk.number, stored->bytes, first_byte, part, codecs_); !decoded)
      return describe(chunk, std::move(decoded).error());
  }
  clock_.mark(Stage::kDecode, bytes);
  count(chunk, bytes);
  return part;
}

Result<UnitCost> ChunkDecoder::measure(const ChunkId& chunk) {
  const ChunkedArray& array = *source_.storage().arrays[chunk.array];
  const Clock::time_point began = Clock::now();
  const auto stored = reader_.read(chunk);
  if (!stored) return std::unexpected(stored.error());
  if (stored->is_missing) return fail(ErrorCode::kNotFound, "the chunk is not stored");
  const Clock::time_point read_at = Clock::now();
  const auto memory = scratch_.get(kScratchChunk, array.chunk_bytes(chunk.number));
  if (!memory) return std::unexpected(memory.error());
  const MutableBytes out = memory->first(array.chunk_bytes(chunk.number));
  PENSTOCK_CHECK(array.decode(chunk.number, stored->bytes, out, codecs_));
  return UnitCost{seconds_between(began, read_at), seconds_between(read_at, Clock::now()),
                  static_cast<double>(stored->bytes.size()), static_cast<double>(out.size())};
}

// Adds to the error which chunk failed and where its bytes are. The error is remembered for other samples, which do not
// know what was read.
std::unexpected<Error> ChunkDecoder::describe(const ChunkId& chunk, Error error) const {
  const ChunkedArray& array = *source_.storage().arrays[chunk.array];
  const Where& read = reader_.where();
  if (error.where.uri.empty()) {
    const std::int64_t inside = std::max<std::int64_t>(error.where.offset, 0);
    error.where = read;
    error.where.offset += inside;
    if (error.where.length >= inside) error.where.length -= inside;
  }
  if (error.where.length < 0 && error.where.uri == read.uri && error.where.offset == read.offset)
    error.where.length = read.length;
  if (!error.message.starts_with("chunk "))
    error.message = fmt::format("chunk {}: {}", describe_chunk(array, chunk.number), error.message);
  return std::unexpected(std::move(error));
}

void ChunkDecoder::count(const ChunkId& chunk, std::size_t bytes) {
  if (lookahead_ == nullptr) return;
  ChunkCounters& counters = lookahead_->counters();
  if (was_missing_) {
    counters.missing.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  counters.decoded.fetch_add(1, std::memory_order_relaxed);
  counters.decoded_bytes.fetch_add(bytes, std::memory_order_relaxed);
  lookahead_->distinct().add(chunk, source_.storage().arrays[chunk.array]->chunk_bytes(chunk.number));
}

}  // namespace penstock
