// What a loader runs on: its memory, its workers and what they read through. All of it depends on how threads
// and memory are divided, so that another division makes another engine.
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

  // What memory= would have to be for so many epochs at one time.
  std::uint64_t memory_for(std::size_t epochs) const;
  // With the memory= that would be enough to decode each chunk once.
  ChunkStats chunk_stats() const;
  // How many epochs the memory for batches can carry.
  std::uint64_t max_epochs() const { return budget.batch_area_bytes / layout.batch_bytes(); }

  const SamplePlan plan;
  const OrderSpec order;  // as the options say
  const SlotLayout layout;
  const BudgetPlan budget;
  const unsigned threads;
  const std::string tuning;
  LoaderOptions options;
  const std::uint64_t variable_bytes, cached_bytes;
  const std::shared_ptr<Ledger> ledger;
  const std::shared_ptr<BatchPool> pool;
  const std::shared_ptr<VariableMemory> room;
  std::unique_ptr<SampleCache> cache;
  std::shared_ptr<const void> charge;
  ReadDivision reads;
  Scheduler scheduler;  // last: its threads use what stands above

 private:
  MemoryNeeds needs() const;
};

}  // namespace penstock
