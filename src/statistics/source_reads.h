// What a pool of threads shares that makes every sample of a source once, in its order: the memory budget, the
// decompressed blocks, and the reads ahead.
//
// It must outlive the workers that use its budget and readers. Its functions are thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/memory/ledger.h"
#include "base/memory/scratch.h"
#include "fetch/shared_reads.h"
#include "penstock/source.h"

namespace penstock {

class SourceReads {
 public:
  struct Request {
    std::vector<std::size_t> fields;  // of the source
    unsigned threads = 1;
    std::uint64_t workers = 1;  // scratches, over all threads
    std::uint64_t memory_bytes = 0;
  };
  // The source is borrowed. Fails if the memory does not suffice.
  static Result<std::unique_ptr<SourceReads>> open(const Source& source, const Request& request);

  ScratchBudget& budget() { return *budget_; }
  SharedReads shared() const { return {streams_.get(), lookahead_.get()}; }
  // Cancels the reads that workers wait for.
  void interrupt();
  ChunkStats chunk_stats() const;

 private:
  explicit SourceReads(std::uint64_t memory) : ledger_(std::make_shared<Ledger>(memory)) {}

  std::shared_ptr<Ledger> ledger_;
  std::unique_ptr<StreamBlocks> streams_;
  std::shared_ptr<LookaheadMemory> lookahead_memory_;
  std::unique_ptr<Lookahead> lookahead_;
  std::optional<ScratchBudget> chunk_budget_, budget_;
};

}  // namespace penstock
