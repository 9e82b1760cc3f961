// All decisions that are made before a loader makes its first sample: the fields, the order, the division of threads
// and memory. They are made once, and again when the ranks of the job change.
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
  std::optional<StreamRequest> request;  // set if the source has compressed shards
  StreamPlan plan;                       // the plan of one epoch that has all of the memory
  std::uint64_t bytes = 0;               // for all epochs
};

struct LoaderParts {
  SamplePlan plan;
  OrderSpec order;
  SlotLayout layout;
  BudgetPlan budget;
  unsigned threads = 1;
  std::string tuning;  // a text for people: what was chosen, and why
  std::shared_ptr<Ledger> ledger;
  std::unique_ptr<SampleCache> cache;  // nullptr: no cache
  std::shared_ptr<const void> charge;  // set if the budget of this loader pays for the cache's memory
  StreamArea streams;
  std::shared_ptr<Area> stream_area;
  std::unique_ptr<StreamBlocks> opened_streams;
  std::optional<LookaheadPlan> lookahead;  // set if samples share chunks, or are read ahead
  LoaderOptions options;                   // the options that led to these decisions
  std::uint64_t variable_bytes = 0;        // estimate of the bytes of a batch that vary from sample to sample
  std::uint64_t cached_bytes = 0;          // the part of the budget that the cache takes
};

Status check_ranks(std::uint32_t rank, std::uint32_t world_size);

// Reads a sample if its shape is not known otherwise. `options` must have been checked.
Result<LoaderParts> plan_loader(const SourcePtr& source, const LoaderOptions& options);

// Computes how large memory= would have to be. Its members are borrowed.
struct MemoryNeeds {
  const SamplePlan& plan;
  const LoaderOptions& options;
  const OrderSpec& order;
  unsigned threads = 1;
  std::uint64_t batch_bytes = 0, variable_bytes = 0;
  std::uint64_t given = 0, cached = 0;

  // Returns the memory= for this many epochs at one time.
  std::uint64_t bytes_for(std::size_t epochs) const;
  // Returns the memory= with which decoded chunks get this many bytes.
  std::uint64_t bytes_for_chunks(std::uint64_t bytes) const;
};

}  // namespace penstock
