#include "pipeline/epoch_reads.h"

#include <atomic>

namespace penstock {

void EpochReads::start(std::shared_ptr<const EpochOrder> order, const RankSlice& slice) {
  static std::atomic<std::uint64_t> last{0};
  epoch = ++last;
  if (streams) streams->start();
  if (upcoming) upcoming->start(std::move(order), slice);
}

void EpochReads::open_batch(const PositionRange& range, BatchContents& contents) {
  if (upcoming) upcoming->open_batch(range, contents);
}

void EpochReads::close_batch(const PositionRange& range) {
  if (upcoming) upcoming->close_batch(range);
}

void EpochReads::interrupt() {
  if (streams) streams->interrupt();
  if (upcoming) upcoming->interrupt();
}

void EpochReads::end() {
  if (upcoming) upcoming->end();
}

ReadDivision::ReadDivision(Setup setup) : setup_(std::move(setup)) {
  if (setup_.upcoming) memory_ = std::make_shared<UpcomingMemory>(setup_.source, setup_.ledger, *setup_.upcoming);
}

Result<StreamPlan> ReadDivision::stream_plan(std::size_t epochs) const {
  if (!setup_.streams) return StreamPlan{.prefetch = UINT64_MAX};
  StreamRequest request = *setup_.streams;
  request.most_bytes = std::min(request.most_bytes, setup_.stream_area->bytes() / epochs);
  return plan_streams(setup_.source, request);
}

void ReadDivision::divide(const std::vector<EpochReads*>& reads, const StreamPlan& plan) const {
  for (EpochReads* each : reads) {
    each->prefetch = plan.prefetch;
    if (each->streams) each->streams->limit(plan);
  }
}

Result<std::unique_ptr<EpochReads>> ReadDivision::take(const std::vector<EpochReads*>& others) {
  const std::size_t epochs = others.size() + 1;
  const auto plan = stream_plan(epochs);
  if (!plan) return std::unexpected(plan.error());
  divide(others, *plan);
  for (EpochReads* other : others)
    if (other->upcoming) other->upcoming->divide_among(epochs);
  std::unique_ptr<EpochReads> reads = std::move(spare_);
  if (!reads) {
    reads = std::make_unique<EpochReads>();
    reads->cache = setup_.cache;
    reads->streams = std::move(setup_.opened_streams);
    if (setup_.streams && !reads->streams)
      reads->streams = std::make_unique<StreamBlocks>(setup_.source, setup_.stream_area, *plan);
    if (setup_.upcoming)
      reads->upcoming = std::make_unique<Upcoming>(setup_.source, setup_.fields, memory_, *setup_.upcoming,
                                                   setup_.cache);
  }
  divide({reads.get()}, *plan);
  if (reads->upcoming) reads->upcoming->divide_among(epochs);
  return reads;
}

std::unique_ptr<EpochReads> ReadDivision::put_back(std::unique_ptr<EpochReads> reads,
                                                   const std::vector<EpochReads*>& others) {
  reads->end();
  if (others.empty()) {
    std::swap(spare_, reads);
    return reads;
  }
  if (const auto plan = stream_plan(others.size())) divide(others, *plan);
  for (EpochReads* other : others)
    if (other->upcoming) other->upcoming->divide_among(others.size());
  return reads;
}

}  // namespace penstock
