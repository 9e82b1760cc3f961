// Divides the memory budget before anything is allocated.
#pragma once

#include <cstdint>

#include "penstock/result.h"

namespace penstock {

struct BudgetRequest {
  std::uint64_t budget_bytes = 0;
  std::uint64_t batch_bytes = 0;  // the fixed part of a batch
  std::uint64_t variable_bytes =
      0;  // estimate of the bytes of a batch that vary from sample to sample; 0: nothing varies
  std::uint64_t shared_bytes = 0;             // shared by samples: compressed shards, decoded chunks, reads ahead
  std::uint64_t chunk_scratch_bytes = 0;      // scratch to decode one chunk, without its elements; 0: no chunks
  std::uint64_t least_share_bytes = 1 << 20;  // scratch per worker for its sample: a few small images
  std::uint64_t sample_scratch_bytes = 0;     // scratch wanted for the samples of all workers; 0: choose
  std::uint64_t in_flight_bytes = 0;  // samples that are finished elsewhere (sample/deferred_sample.h)
  unsigned threads = 1;
  std::uint64_t prefetch = 0;  // batches ahead that the user wants; 0: choose
};

struct BudgetPlan {
  std::uint64_t batch_area_bytes = 0;     // batches in the making, waiting, lent and free
  std::uint64_t variable_area_bytes = 0;  // the texts and ragged arrays of those batches
  std::uint64_t scratch_share_bytes = 0;  // scratch per worker for samples
  std::uint64_t scratch_pot_bytes = 0;    // scratch for one large sample at a time
  std::uint64_t chunk_share_bytes = 0;    // scratch per worker to decode chunks
  std::uint64_t chunk_pot_bytes = 0;      // scratch for one large chunk at a time
  std::uint64_t in_flight_bytes = 0;      // samples that are finished elsewhere
  std::uint64_t prefetch = 0;             // batches in the making or waiting
};

// Returns the scratch that all workers together should get to decode chunks: enough for each of them, but only a small
// part of the memory if chunks are large.
std::uint64_t wanted_chunk_scratch(const BudgetRequest& request);

// Returns the bytes that one batch and a minimum of scratch take, without shared_bytes.
std::uint64_t least_budget(const BudgetRequest& request);

// If one batch and a minimum of scratch do not fit, fails and says how much memory is needed.
Result<BudgetPlan> divide_budget(const BudgetRequest& request);

}  // namespace penstock
