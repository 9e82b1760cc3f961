// The loader that Loader::open() gives: runs epochs, hands batches over, counts.
#pragma once

#include <memory>
#include <string>

#include "batch/slot_layout.h"
#include "order/epoch_order.h"
#include "penstock/loader.h"
#include "pipeline/budget.h"
#include "pipeline/field_plan.h"
#include "pipeline/sample_cache.h"
#include "pipeline/stream_blocks.h"
#include "pipeline/upcoming.h"

namespace penstock {

// All that was decided before the first sample is made.
struct LoaderParts {
  SamplePlan plan;
  LoaderOptions options;
  OrderSpec order;
  SlotLayout layout;
  BudgetPlan budget;
  unsigned threads = 1;
  std::string tuning;  // what was chosen, in words
  std::shared_ptr<Ledger> ledger;
  std::unique_ptr<SampleCache> cache;     // where there is one
  std::shared_ptr<const void> charge;     // where it is this loader that answers for the cache's memory
  std::unique_ptr<StreamBlocks> streams;  // where the source is forward-only
  std::unique_ptr<Upcoming> upcoming;     // where samples share chunks, or are read ahead
};

std::unique_ptr<Loader> make_pipeline_loader(LoaderParts parts);

}  // namespace penstock
