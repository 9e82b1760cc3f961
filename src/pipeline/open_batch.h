// A batch in the making, as the scheduler sees it.
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

// A sample that failed, and that another is to take the place of.
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
  unsigned workers = 0;                 // claims and deferred samples that are under way
  std::vector<std::uint64_t> put_off;   // samples to be made when this batch is the next to leave
  std::vector<Replacement> to_replace;  // deferred samples that failed
  bool is_complete = false;             // padded, where it is to be
  bool is_being_completed = false;

  std::mutex trouble;  // guards what is below; errors are rare, so it is a mutex of their own
  std::vector<bool> left_out;
  std::vector<Error> errors;
  std::uint64_t replaced = 0;
  bool failed = false;
  std::optional<Error> too_large;  // the batch as a whole, not one of its samples, is at fault

  bool is_made() const { return done == range.count; }
  bool is_ready() const { return is_made() && is_complete; }
};

}  // namespace penstock
