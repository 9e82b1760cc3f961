// The part of a ChunkAssembler that uses the cache. Whole chunks are kept: a chunk of which some samples are
// kept and others not would be read and decoded all the same.
#include <algorithm>

#include "sample/chunk_assembler.h"
#include "sample/sample_worker.h"
#include "transform/op.h"

namespace penstock {

ReadAhead* ChunkAssembler::ahead() const { return lookahead_ ? lookahead_->ahead() : nullptr; }

Result<bool> ChunkAssembler::use_kept(const Need& need) {
  if (!cache_->has(need.chunk)) {
    clock_.cache().misses.add(1);
    return false;
  }
  const SampleCache::Subject subject = cache_->subject(need.chunk);
  const auto kept = cache_->find(subject, cached_value_allocator_, clock_.cache(), ahead());
  if (!kept) return false;
  const ChunkedArray& array = *source_.storage().arrays[need.chunk.array];
  if (kept->bytes.size() != array.chunk_bytes(need.chunk.number)) {
    cache_->withdraw(subject);
    return false;
  }
  kept_ = kept->held;
  clock_.mark(Stage::kRead, kept->bytes.size());
  PENSTOCK_CHECK(scatter_all(need, kept->bytes, 0));
  return true;
}

// Decoded where it is kept, and used from there.
Result<bool> ChunkAssembler::keep_and_use(const Need& need) {
  const SampleCache::Subject subject = cache_->subject(need.chunk);
  bool is_used = false;
  const auto make = [&](MutableBytes bytes, EntryHead& head) -> Status {
    const Clock::time_point began = Clock::now();
    PENSTOCK_CHECK(decode_into(need.chunk, bytes));
    head.cost_ns = cost_since(began);
    set_version(head, version_);
    PENSTOCK_CHECK(scatter_all(need, bytes, 0));
    is_used = true;
    // What is not there is made as quickly as it is found.
    return is_missing_ ? fail(ErrorCode::kNotFound, "missing") : Status{};
  };
  const ChunkedArray& array = *source_.storage().arrays[need.chunk.array];
  const auto added = cache_->add(subject, {}, array.chunk_bytes(need.chunk.number), make, cached_value_allocator_);
  if (is_used || (!added && added.error().code == ErrorCode::kNoMemory)) return is_used;
  return added;
}

void ChunkAssembler::keep_copy(const ChunkId& chunk, ConstBytes decoded, std::uint64_t cost_ns) {
  if (cache_ == nullptr || !cache_->keeps_decoded_chunks()) return;
  const SampleCache::Subject subject = cache_->subject(chunk);
  const auto copy = [&](MutableBytes bytes, EntryHead& head) -> Status {
    std::ranges::copy(decoded, bytes.begin());
    head.cost_ns = cost_ns;
    return {};
  };
  // Whether it could be kept or not, it is here.
  (void)cache_->add(subject, version_, decoded.size(), copy, cached_value_allocator_);
}

Result<ConstBytes> ChunkAssembler::find_or_read(const ChunkId& chunk, const ObjectRead& wanted) {
  const ChunkedArray& array = *source_.storage().arrays[chunk.array];
  if (cache_ == nullptr || cache_->keeps_decoded_chunks()) return read(array, wanted);
  const SampleCache::Subject subject = cache_->subject(chunk);
  if (const auto kept = cache_->find(subject, cached_value_allocator_, clock_.cache(), ahead())) {
    kept_ = kept->held;
    version_ = version_of(kept->head);
    where_ = {wanted.key, static_cast<std::int64_t>(wanted.range.offset),
              static_cast<std::int64_t>(kept->bytes.size()), -1};
    clock_.mark(Stage::kRead, kept->bytes.size());
    return kept->bytes;
  }
  const Clock::time_point began = Clock::now();
  const auto encoded = read(array, wanted);
  if (!encoded) return encoded;
  const auto copy = [&](MutableBytes bytes, EntryHead& head) -> Status {
    std::ranges::copy(*encoded, bytes.begin());
    head.cost_ns = cost_since(began);
    return {};
  };
  (void)cache_->add(subject, version_, encoded->size(), copy, cached_value_allocator_);
  return encoded;
}

Result<UnitCost> ChunkAssembler::measure_first(std::uint64_t sample, std::span<const std::size_t> fields) {
  for (const ChunkId& chunk : chunks_of(source_, fields, sample)) {
    const ChunkedArray& array = *source_.storage().arrays[chunk.array];
    const auto place = place_of(chunk);
    if (!place) return std::unexpected(place.error());
    if (place->is_missing) continue;
    const Clock::time_point began = Clock::now();
    const auto encoded = read(array, place->read);
    if (!encoded && encoded.error().code == ErrorCode::kNotFound) continue;
    if (!encoded) return std::unexpected(encoded.error());
    const Clock::time_point read_at = Clock::now();
    const auto memory = scratch_.get(kScratchChunk, array.chunk_bytes(chunk.number));
    if (!memory) return std::unexpected(memory.error());
    const MutableBytes out = memory->first(array.chunk_bytes(chunk.number));
    PENSTOCK_CHECK(array.decode(chunk.number, *encoded, out, codecs_));
    return UnitCost{seconds_between(began, read_at), seconds_between(read_at, Clock::now()),
                    static_cast<double>(encoded->size()), static_cast<double>(out.size())};
  }
  return fail(ErrorCode::kNotFound, "no chunk of the sample is stored");
}

}  // namespace penstock
