#include "stage_table.h"

#include <fmt/format.h>

#include "format.h"
#include "sizes.h"

namespace penstock::cli {
namespace {

constexpr double kBarWidth = 24;
constexpr std::size_t kWork = kStages - 1;  // all stages but deliver, which is the consumer's time

}  // namespace

Stages stages_from(const LoaderStats& stats, std::size_t first_epoch) {
  Stages sum{};
  for (std::size_t e = first_epoch; e < stats.epochs.size(); ++e)
    for (std::size_t i = 0; i < kStages; ++i) {
      const StageStats& stage = stats.epochs[e].stages[i];
      sum[i].seconds += stage.seconds;
      sum[i].items += stage.items;
      sum[i].bytes += stage.bytes;
      sum[i].wait_seconds += stage.wait_seconds;
    }
  return sum;
}

std::string stage_table(const Stages& stages) {
  double all = 0;
  for (std::size_t i = 0; i < kWork; ++i) all += stages[i].seconds;
  std::string text =
      fmt::format("  {:<10} {:>9} {:>7} {:>12} {:>11}\n", "stage", "thread s", "share", "per sample", "out");
  for (std::size_t i = 0; i < kWork; ++i) {
    const StageStats& stage = stages[i];
    if (stage.items == 0) continue;
    const double share = all > 0 ? stage.seconds / all : 0;
    text += fmt::format("  {:<10} {:>9.2f} {:>7} {:>12} {:>11}  {}\n", name_of(static_cast<Stage>(i)),
                        stage.seconds, format_percent(share),
                        format_seconds(stage.seconds / static_cast<double>(stage.items)),
                        stage.bytes ? format_bytes(stage.bytes) : "",
                        std::string(static_cast<std::size_t>(share * kBarWidth + 0.5), '#'));
  }
  return text;
}

nlohmann::ordered_json to_json(const Stages& stages) {
  nlohmann::ordered_json json;
  for (std::size_t i = 0; i < kStages; ++i)
    json[std::string(name_of(static_cast<Stage>(i)))] = {{"seconds", stages[i].seconds},
                                                         {"items", stages[i].items},
                                                         {"bytes", stages[i].bytes},
                                                         {"wait_seconds", stages[i].wait_seconds}};
  return json;
}

std::string advice_for(const LoaderStats& stats) {
  const std::string& bottleneck = stats.bottleneck;
  if (bottleneck == "memory")
    return fmt::format("chunks are decoded again and again: memory={}MiB is enough to decode each once",
                       (stats.chunks.memory_for_one_decode >> 20) + 1);
  if (bottleneck == "read") return "storage is the limit: faster disks or network, or fewer and bigger files";
  if (bottleneck == "decode") return "more cores make it faster";
  if (bottleneck == "transform") return "more cores, or fewer and cheaper transforms";
  if (bottleneck == "collate") return "writing the batches is the limit: a smaller dtype or size";
  if (bottleneck == "training step") return "the loader keeps up; the consumer is the slow one";
  return {};
}

}  // namespace penstock::cli
