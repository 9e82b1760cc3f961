// Runs one epoch as a training loop would: takes batches, drops them, and measures the time.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/loader.h"

namespace penstock::cli {

struct EpochRequest {
  std::string label;  // of the progress bar
  std::string unit = "samples";
  std::uint64_t batch_size = 1;
  std::uint64_t limit_batches = 0;  // 0: no limit
  double sleep_seconds = 0;         // after each batch, in place of a training step
};

struct EpochRun {
  std::uint64_t samples = 0, batches = 0, bytes = 0;
  // Time from start_epoch() until the last batch has been used. It includes the latency of the first batch
  // and the sleep after the last one.
  double seconds = 0;
  double first_batch_seconds = 0;
  double cpu_seconds = 0;
  std::vector<double> waits;  // by batch: time that next() took

  double throughput() const { return seconds > 0 ? static_cast<double>(samples) / seconds : 0; }
  double waited_seconds() const;
  // The share of the time in which the consumer waited.
  double stall() const { return seconds > 0 ? waited_seconds() / seconds : 0; }
};

// Shows a progress bar while it runs.
Result<EpochRun> run_epoch(Loader& loader, const EpochRequest& request);

// Sums the epochs from index `from` on.
EpochRun joined(const std::vector<EpochRun>& epochs, std::size_t from);

// The value below which `share` of the values lie (nearest rank); 0 if there are no values.
double percentile(std::vector<double> values, double share);

nlohmann::ordered_json to_json(const EpochRun& epoch);

}  // namespace penstock::cli
