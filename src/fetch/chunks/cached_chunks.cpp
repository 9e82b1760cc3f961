#include "fetch/chunks/cached_chunks.h"

#include <algorithm>

namespace penstock {

CachedChunks::CachedChunks(const SampleCache& cache, Scratch& scratch, StageClock& clock, ChunkProvider& next)
    : cache_(cache),
      allocate_(cached_value_allocator(scratch)),
      clock_(clock),
      next_(next) {}

void CachedChunks::turn_to(const SharedReads& shared) {
  ahead_ = shared.ahead();
  next_.turn_to(shared);
}

void CachedChunks::end_chunk() {
  entry_.reset();
  next_.end_chunk();
}

Result<ChunkBytes> CachedChunks::read(const ChunkRead& wanted) {
  if (wanted.part || cache_.keeps_decoded_chunks()) return next_.read(wanted);
  const SampleCache::Subject subject = cache_.subject(wanted.chunk);
  if (auto cached = cache_.find(subject, allocate_, clock_.cache(), ahead_)) {
    entry_ = std::move(cached->held);
    return ChunkBytes{cached->bytes, version_of(cached->head)};
  }
  const Clock::time_point began = Clock::now();
  auto found = next_.read(wanted);
  if (!found) return found;
  const auto fill = [&](MutableBytes bytes, EntryHead& head) -> Status {
    std::ranges::copy(found->bytes, bytes.begin());
    head.cost_ns = cost_since(began);
    return {};
  };
  // The chunk was read, whether or not the cache admits it.
  (void)cache_.add(subject, found->version, found->bytes.size(), fill, allocate_);
  return found;
}

}  // namespace penstock
