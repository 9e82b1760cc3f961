// How the memory budget is divided before anything is allocated.
#pragma once

#include <cstdint>

#include "penstock/result.h"

namespace penstock {

struct BudgetRequest {
  std::uint64_t budget_bytes = 0;
  std::uint64_t batch_bytes = 0;  // the block of a batch
  std::uint64_t variable_bytes =
      0;                           // of a batch, roughly: what varies from sample to sample; 0: nothing does
  std::uint64_t shared_bytes = 0;  // for what samples share: compressed shards, decoded chunks, reads ahead
  std::uint64_t chunk_scratch_bytes = 0;  // what decoding one chunk takes besides its elements; 0: there are none
  std::uint64_t least_share_bytes = 1 << 20;  // scratch of a worker for its sample: a few small images
  std::uint64_t sample_scratch_bytes = 0;     // wanted for all workers' samples together; 0: choose
  std::uint64_t in_flight_bytes = 0;  // for samples that are finished elsewhere (sample/deferred_sample.h)
  unsigned threads = 1;
  std::uint64_t prefetch = 0;  // wanted by the user; 0: choose
};

struct BudgetPlan {
  std::uint64_t batch_area_bytes = 0;     // batches in the making, waiting, lent and free
  std::uint64_t variable_area_bytes = 0;  // texts and ragged arrays, likewise
  std::uint64_t scratch_share_bytes = 0;  // a worker
  std::uint64_t scratch_pot_bytes = 0;    // for one large sample at a time
  std::uint64_t chunk_share_bytes = 0;    // a worker, to decode chunks
  std::uint64_t chunk_pot_bytes = 0;      // for one large chunk at a time
  std::uint64_t in_flight_bytes = 0;      // samples that are finished elsewhere
  std::uint64_t prefetch = 0;             // batches in the making or waiting
};

// What all workers together get to decode chunks, where there is memory: enough for each of them, but not much of
// the memory where chunks are large.
std::uint64_t wanted_chunk_scratch(const BudgetRequest& request);

// What one batch and a minimum of scratch take, without what is shared.
std::uint64_t least_budget(const BudgetRequest& request);

// Fails, saying how much is needed, where one batch and a minimum of scratch do not fit.
Result<BudgetPlan> divide_budget(const BudgetRequest& request);

}  // namespace penstock
