// The last link of the chain for chunks: reads them from their store, on the worker's thread.
#pragma once

#include "fetch/chunks/chunk_provider.h"
#include "transform/op.h"

namespace penstock {

class StoreChunks final : public ChunkProvider {
 public:
  explicit StoreChunks(Scratch& scratch) : scratch_(scratch) {}

  Result<ChunkBytes> read(const ChunkRead& wanted) override;
  bool reads_parts() const override { return true; }

 private:
  Scratch& scratch_;
};

// Returns the allocator for a chunk's bytes: the memory that the caller gave, or a buffer of the worker's scratch.
Store::Allocate memory_for(const ChunkRead& wanted, Scratch& scratch);

}  // namespace penstock
