#include "pipeline/engine.h"

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
      room(std::make_shared<VariableRoom>(ledger, budget.variable_area_bytes)),
      cache(std::move(parts.cache)),
      charge(std::move(parts.charge)),
      reads({*plan.source, stored_fields(plan), ledger, cache.get(), parts.streams.request,
             std::move(parts.stream_area), std::move(parts.opened_streams), parts.upcoming}),
      scheduler({plan,
                 layout,
                 pool,
                 room,
                 ledger,
                 reads,
                 budget.scratch_share_bytes,
                 budget.scratch_pot_bytes,
                 threads,
                 budget.prefetch,
                 {options.on_error, options.seed, options.pad_value}}) {}

std::uint64_t Engine::memory_for(std::size_t epochs) const {
  return MemoryNeeds{plan,           options,          order,        threads, layout.batch_bytes(),
                     variable_bytes, ledger->budget(), cached_bytes}
      .bytes_for(epochs);
}

}  // namespace penstock
