#include "epoch_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "process_use.h"
#include "progress_bar.h"

namespace penstock::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

}  // namespace

double EpochRun::waited_seconds() const { return std::accumulate(waits.begin(), waits.end(), 0.0); }

Result<EpochRun> run_epoch(Loader& loader, const EpochRequest& request) {
  std::uint64_t batches = loader.batches_per_epoch();
  if (request.limit_batches > 0) batches = std::min(batches, request.limit_batches);
  ProgressBar bar(request.label, std::min(batches * request.batch_size, loader.source().size()),
                  request.unit);

  EpochRun run;
  const double cpu_before = cpu_seconds();
  const Clock::time_point began = Clock::now();
  const auto epoch = loader.start_epoch();
  if (!epoch) return std::unexpected(epoch.error());
  while (run.batches < batches) {
    const Clock::time_point asked = Clock::now();
    const auto batch = (*epoch)->next();
    if (!batch) return std::unexpected(batch.error());
    if (!*batch) break;
    run.waits.push_back(seconds_since(asked));
    if (run.batches == 0) run.first_batch_seconds = seconds_since(began);
    ++run.batches;
    run.samples += (*batch)->size;
    for (const BatchField& field : (*batch)->fields) {
      run.bytes += field.data ? field.spec.bytes() : 0;
      for (const std::string& text : field.texts) run.bytes += text.size();
    }
    if (request.sleep_seconds > 0)
      std::this_thread::sleep_for(std::chrono::duration<double>(request.sleep_seconds));
    run.seconds = seconds_since(began);
    bar.show(run.samples);
  }
  run.cpu_seconds = cpu_seconds() - cpu_before;
  return run;
}

EpochRun joined(const std::vector<EpochRun>& epochs, std::size_t from) {
  EpochRun all;
  for (std::size_t i = from; i < epochs.size(); ++i) {
    const EpochRun& epoch = epochs[i];
    all.samples += epoch.samples;
    all.batches += epoch.batches;
    all.bytes += epoch.bytes;
    all.seconds += epoch.seconds;
    all.cpu_seconds += epoch.cpu_seconds;
    all.waits.insert(all.waits.end(), epoch.waits.begin(), epoch.waits.end());
    if (i == from) all.first_batch_seconds = epoch.first_batch_seconds;
  }
  return all;
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

nlohmann::ordered_json to_json(const EpochRun& epoch) {
  return {{"samples", epoch.samples},
          {"batches", epoch.batches},
          {"seconds", epoch.seconds},
          {"throughput", epoch.throughput()},
          {"first_batch_seconds", epoch.first_batch_seconds},
          {"wait_p50", percentile(epoch.waits, 0.5)},
          {"wait_p99", percentile(epoch.waits, 0.99)},
          {"stall", epoch.stall()},
          {"cpu_seconds", epoch.cpu_seconds}};
}

}  // namespace penstock::cli
