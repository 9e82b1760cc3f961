// All that is decided before a loader makes its first sample: which fields, which order, how threads and
// memory are divided. Decided once, and again when the ranks of the job change.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "batch/slot_layout.h"
#include "order/epoch_order.h"
#include "penstock/loader.h"
#include "pipeline/budget.h"
#include "plan/field_plan.h"
#include "fetch/entries/sample_cache.h"
#include "fetch/stream_blocks.h"
#include "fetch/lookahead.h"

namespace penstock {

// Memory for compressed shards.
struct StreamArea {
  std::optional<StreamRequest> request;  // nothing where there are none
  StreamPlan plan;                       // of one epoch that has all of it
  std::uint64_t bytes = 0;               // for all epochs
};

struct LoaderParts {
  SamplePlan plan;
  OrderSpec order;
  SlotLayout layout;
  BudgetPlan budget;
  unsigned threads = 1;
  std::string tuning;  // what was chosen, in words
  std::shared_ptr<Ledger> ledger;
  std::unique_ptr<SampleCache> cache;  // where there is one
  std::shared_ptr<const void> charge;  // where it is this loader that answers for the cache's memory
  StreamArea streams;
  std::shared_ptr<Area> stream_area;
  std::unique_ptr<StreamBlocks> opened_streams;
  std::optional<LookaheadPlan> lookahead;  // where samples share chunks, or are read ahead
  LoaderOptions options;                 // that all of this follows from
  std::uint64_t variable_bytes = 0;      // of a batch, roughly
  std::uint64_t cached_bytes = 0;        // of the budget, the cache's
};

Status check_ranks(std::uint32_t rank, std::uint32_t world_size);

// Reads a sample where nothing else tells its shape. `options` were checked.
Result<LoaderParts> plan_loader(const SourcePtr& source, const LoaderOptions& options);

// What memory= would have to be. Borrows what it is made of.
struct MemoryNeeds {
  const SamplePlan& plan;
  const LoaderOptions& options;
  const OrderSpec& order;
  unsigned threads = 1;
  std::uint64_t batch_bytes = 0, variable_bytes = 0;
  std::uint64_t given = 0, cached = 0;

  // For so many epochs at one time.
  std::uint64_t bytes_for(std::size_t epochs) const;
  // For so many bytes of decoded chunks.
  std::uint64_t bytes_for_chunks(std::uint64_t bytes) const;
};

}  // namespace penstock
