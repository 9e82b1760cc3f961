// Everything that a loader runs on: its memory, its workers and their readers. All of it depends on how threads and
// memory are divided, so another division needs another engine.
#pragma once

#include <memory>

#include "batch/batch_pool.h"
#include "batch/variable_memory.h"
#include "fetch/epoch_reads.h"
#include "pipeline/loader_parts.h"
#include "pipeline/scheduler/scheduler.h"

namespace penstock {

struct Engine {
  explicit Engine(LoaderParts parts);

  // Returns the memory= that this many epochs at one time would need.
  std::uint64_t memory_for(std::size_t epochs) const;
  // Includes the memory= that would suffice to decode each chunk once.
  ChunkStats chunk_stats() const;
  // Returns the number of epochs at one time for which the memory for batches suffices.
  std::uint64_t max_epochs() const { return budget.batch_area_bytes / layout.batch_bytes(); }

  const SamplePlan plan;
  const OrderSpec order;  // the order that the options describe
  const SlotLayout layout;
  const BudgetPlan budget;
  const unsigned threads;
  const std::string tuning;
  LoaderOptions options;
  const std::uint64_t variable_bytes, cached_bytes;
  const std::shared_ptr<Ledger> ledger;
  const std::shared_ptr<BatchPool> pool;
  const std::shared_ptr<VariableMemory> variable_memory;
  std::unique_ptr<SampleCache> cache;
  std::shared_ptr<const void> charge;
  ReadDivision reads;
  Scheduler scheduler;  // last, because its threads use the members above

 private:
  MemoryNeeds needs() const;
};

}  // namespace penstock
