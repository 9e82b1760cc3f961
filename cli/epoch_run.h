// One epoch as a training loop sees it: takes batches, drops them, and looks at the clock.
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
  std::uint64_t limit_batches = 0;  // 0: all
  double sleep_seconds = 0;         // after each batch, in place of a training step
};

struct EpochRun {
  std::uint64_t samples = 0, batches = 0, bytes = 0;
  // From start_epoch() until the last batch has been used: reading and decoding ahead, the first
  // batch's latency and the sleep after the last batch all count.
  double seconds = 0;
  double first_batch_seconds = 0;
  double cpu_seconds = 0;
  std::vector<double> waits;  // for each batch, from asking for it to having it

  double throughput() const { return seconds > 0 ? static_cast<double>(samples) / seconds : 0; }
  double waited_seconds() const;
  // The share of the time that the consumer waited.
  double stall() const { return seconds > 0 ? waited_seconds() / seconds : 0; }
};

// Shows a progress bar while it runs.
Result<EpochRun> run_epoch(Loader& loader, const EpochRequest& request);

// Several epochs as one.
EpochRun joined(const std::vector<EpochRun>& epochs, std::size_t from);

// The value below which `share` of the values lie (nearest rank); 0 where there are none.
double percentile(std::vector<double> values, double share);

nlohmann::ordered_json to_json(const EpochRun& epoch);

}  // namespace penstock::cli
