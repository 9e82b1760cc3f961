#include "fetch/epoch_reads.h"

#include <atomic>

namespace penstock {

void EpochReads::start(std::shared_ptr<const EpochOrder> order, const RankSlice& slice) {
  static std::atomic<std::uint64_t> last{0};
  epoch = ++last;
  if (streams) streams->start();
  if (lookahead) lookahead->start(std::move(order), slice);
}

void EpochReads::open_batch(const PositionRange& range, BatchContents& contents) {
  if (lookahead) lookahead->open_batch(range, contents);
}

void EpochReads::close_batch(const PositionRange& range) {
  if (lookahead) lookahead->close_batch(range);
}

void EpochReads::interrupt() {
  if (streams) streams->interrupt();
  if (lookahead) lookahead->interrupt();
}

void EpochReads::end() {
  if (lookahead) lookahead->end();
}

ReadDivision::ReadDivision(Setup setup) : setup_(std::move(setup)) {
  if (setup_.lookahead) memory_ = std::make_shared<LookaheadMemory>(setup_.source, setup_.ledger, *setup_.lookahead);
}

Result<StreamPlan> ReadDivision::stream_plan(std::size_t epochs) const {
  if (!setup_.streams) return StreamPlan{.prefetch = UINT64_MAX};
  StreamRequest request = *setup_.streams;
  request.max_bytes = std::min(request.max_bytes, setup_.stream_area->bytes() / epochs);
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
    if (other->lookahead) other->lookahead->divide_among(epochs);
  std::unique_ptr<EpochReads> reads = std::move(spare_);
  if (!reads) {
    reads = std::make_unique<EpochReads>();
    reads->cache = setup_.cache;
    reads->streams = std::move(setup_.opened_streams);
    if (setup_.streams && !reads->streams)
      reads->streams = std::make_unique<StreamBlocks>(setup_.source, setup_.stream_area, *plan);
    if (setup_.lookahead)
      reads->lookahead = std::make_unique<Lookahead>(setup_.source, setup_.fields, memory_, *setup_.lookahead,
                                                   setup_.cache);
  }
  divide({reads.get()}, *plan);
  if (reads->lookahead) reads->lookahead->divide_among(epochs);
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
    if (other->lookahead) other->lookahead->divide_among(others.size());
  return reads;
}

}  // namespace penstock
