// A batch in the making: the scheduler's record of it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "batch/batch_contents.h"
#include "order/rank_slice.h"
#include "penstock/result.h"

namespace penstock {

// A sample that failed and needs a stand-in.
struct Replacement {
  std::uint64_t index = 0;  // in the batch
  Error error;              // why the sample itself could not be made
  int attempts = 0;         // stand-ins that were tried
};

struct OpenBatch {
  PositionRange range;
  std::shared_ptr<BatchContents> contents = std::make_shared<BatchContents>();
  // Guarded by the scheduler's mutex.
  std::uint64_t claimed = 0, done = 0;
  unsigned workers = 0;                 // claims and deferred samples in progress
  std::vector<std::uint64_t> put_off;   // samples that are made when this batch is the next to be delivered
  std::vector<Replacement> to_replace;  // deferred samples that failed
  bool is_complete = false;             // all samples are made and, if needed, padded
  bool is_being_completed = false;

  std::mutex trouble;  // guards what is below; errors are rare, so it is a mutex of their own
  std::vector<bool> left_out;
  std::vector<Error> errors;
  std::uint64_t replaced = 0;
  bool failed = false;
  std::optional<Error> too_large;  // the batch as a whole, not one of its samples, needs too much memory

  bool is_made() const { return done == range.count; }
  bool is_ready() const { return is_made() && is_complete; }
};

}  // namespace penstock
