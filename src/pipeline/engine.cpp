#include "pipeline/engine.h"

#include <algorithm>

#include "sample/sample_worker.h"
#include "source/chunked_array.h"

namespace penstock {

Engine::Engine(LoaderParts parts)
    : plan(std::move(parts.plan)),
      order(std::move(parts.order)),
      layout(std::move(parts.layout)),
      budget(parts.budget),
      threads(parts.threads),
      tuning(std::move(parts.tuning)),
      options(std::move(parts.options)),
      variable_bytes(parts.variable_bytes),
      cached_bytes(parts.cached_bytes),
      ledger(std::move(parts.ledger)),
      pool(std::make_shared<BatchPool>(ledger, layout.batch_bytes(), budget.batch_area_bytes)),
      variable_memory(std::make_shared<VariableMemory>(ledger, budget.variable_area_bytes)),
      cache(std::move(parts.cache)),
      charge(std::move(parts.charge)),
      reads({*plan.source, stored_fields(plan), ledger, cache.get(), parts.streams.request,
             std::move(parts.stream_area), std::move(parts.opened_streams), parts.lookahead}),
      scheduler({plan,
                 layout,
                 pool,
                 variable_memory,
                 ledger,
                 reads,
                 budget.scratch_share_bytes,
                 budget.scratch_pot_bytes,
                 budget.chunk_share_bytes,
                 budget.chunk_pot_bytes,
                 budget.in_flight_bytes,
                 cache ? cache->tiers().size() : 0,
                 threads,
                 budget.prefetch,
                 {options.on_error, options.seed, options.pad_value},
                 [this](ScratchBudget& scratch, WorkerCounters& counters) -> std::unique_ptr<SampleMaker> {
                   return std::make_unique<SampleWorker>(plan, scratch, counters,
                                                         SharedReads{.cache = cache.get()});
                 }}) {}

MemoryNeeds Engine::needs() const {
  return {plan,           options,          order,       threads, layout.batch_bytes(),
          variable_bytes, ledger->budget(), cached_bytes};
}

std::uint64_t Engine::memory_for(std::size_t epochs) const { return needs().bytes_for(epochs); }

ChunkStats Engine::chunk_stats() const {
  ChunkStats stats = reads.chunk_stats();
  if (!stats.is_repeated()) return stats;
  // Every worker may hold a chunk that no other sample needs.
  std::uint64_t at_work = 0, all = 0;
  for (const auto& array : plan.source->storage().arrays) {
    if (array->chunks() == 0) continue;
    at_work = std::max<std::uint64_t>(at_work, threads * array->chunk_bytes(0));
    all += array->chunks() * array->chunk_bytes(0);
  }
  stats.memory_for_one_decode =
      needs().bytes_for_chunks(std::min(reads.chunk_bytes_for_one_decode() + at_work, all));
  return stats;
}

}  // namespace penstock
