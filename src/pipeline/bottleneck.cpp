#include "pipeline/bottleneck.h"

namespace penstock {
namespace {

constexpr double kShareOfWaiting = 0.05;      // if the consumer waits less than this, it is the bottleneck itself
constexpr double kMinDecodesPerChunk = 1.1;  // below this, repeated decoding is not reported

}  // namespace

std::string find_bottleneck(const LoaderStats& stats) {
  double running = 0, waited = 0;
  for (const EpochStats& epoch : stats.epochs) {
    running += epoch.seconds;
    waited += epoch.stages[static_cast<std::size_t>(Stage::kDeliver)].wait_seconds;
  }
  if (stats.counts.batches == 0 || running <= 0) return "unknown";
  if (waited / running < kShareOfWaiting) return "training step";
  std::size_t slowest = 0;
  for (std::size_t i = 0; i < kStages - 1; ++i)
    if (stats.stages[i].seconds > stats.stages[slowest].seconds) slowest = i;
  const bool is_for_chunks =
      slowest == static_cast<std::size_t>(Stage::kRead) || slowest == static_cast<std::size_t>(Stage::kDecode);
  if (is_for_chunks && stats.chunks.is_repeated() && stats.chunks.decodes_per_chunk() >= kMinDecodesPerChunk)
    return "memory";
  return std::string(name_of(static_cast<Stage>(slowest)));
}

}  // namespace penstock
