// Reads consecutive samples of some fields into memory, whole blocks at a time.
//
// There are two ways: ChunkBlocks copies chunked arrays, each chunk of the source once per block; MadeBlocks makes samples
// one by one, as a loader does. Used by one thread; it runs threads of its own while it reads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/memory/ledger.h"
#include "penstock/loader.h"
#include "penstock/source.h"

namespace penstock {

// The samples from `first` on. Each field has memory for `samples` of them, in C order without gaps.
struct SampleBlock {
  std::uint64_t first = 0, samples = 0;
  std::vector<std::byte*> memory;  // by field of the reader
};

class BlockReader {
 public:
  virtual ~BlockReader() = default;

  // Fails with the error of a sample or chunk that cannot be read, and with kStopped when `go_on` returns false.
  virtual Status read(const SampleBlock& block, const std::function<bool()>& go_on) = 0;
  // Over all blocks; a chunk counts each time.
  virtual std::uint64_t chunks_decoded() const { return 0; }
};

struct ReaderMemory {
  Ledger& ledger;
  std::uint64_t bytes = 0;
  unsigned threads = 1;
};

// `fields` are chunked fields of the source, which have no transforms.
Result<std::unique_ptr<BlockReader>> read_chunk_blocks(SourcePtr source, std::vector<std::size_t> fields,
                                                       const ReaderMemory& memory);
// The memory that read_chunk_blocks() needs per thread.
std::uint64_t chunk_block_bytes(const Source& source, std::span<const std::size_t> fields);

// Fields of any form that become numbers, with transforms that draw nothing at random. `specs` are their types and shapes;
// a sample that differs is an error. `options` has the fields.
Result<std::unique_ptr<BlockReader>> read_made_blocks(SourcePtr source, const LoaderOptions& options,
                                                      std::vector<ArraySpec> specs, const ReaderMemory& memory);

}  // namespace penstock
