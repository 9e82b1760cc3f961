#include "fetch/chunks/store_chunks.h"

#include <algorithm>

namespace penstock {

Store::Allocate memory_for(const ChunkRead& wanted, Scratch& scratch) {
  if (wanted.part)
    return [part = *wanted.part](std::size_t bytes) -> Result<MutableBytes> { return part.first(bytes); };
  return [&scratch, whole = wanted.whole](std::size_t bytes) -> Result<MutableBytes> {
    if (!whole.empty() && bytes == whole.size()) return whole;
    const auto memory = scratch.get(kScratchEncoded, std::max<std::size_t>(bytes, 1));
    if (!memory) return memory;
    return memory->first(bytes);
  };
}

Result<ChunkBytes> StoreChunks::read(const ChunkRead& wanted) {
  const auto got = wanted.array.store().read(wanted.read, memory_for(wanted, scratch_));
  if (!got) return std::unexpected(got.error());
  return ChunkBytes{got->bytes, got->version};
}

}  // namespace penstock
