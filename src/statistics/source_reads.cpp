#include "statistics/source_reads.h"

#include <algorithm>

#include "base/text/byte_units.h"
#include "source/source_storage.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxWorkerShare = 32 * kMiB;
constexpr std::uint64_t kMinSamplesAhead = 64;  // samples that are read ahead per thread

}  // namespace

Result<std::unique_ptr<SourceReads>> SourceReads::open(const Source& source, const Request& request) {
  const std::uint64_t memory = request.memory_bytes;
  std::unique_ptr<SourceReads> reads(new SourceReads(memory));
  std::uint64_t shared_bytes = 0;
  if (source.storage().is_forward_only()) {
    // Each thread decompresses a block of its own.
    const auto plan =
        plan_streams(source, {.window_units = request.threads, .prefetch = 1, .max_bytes = memory / 2});
    if (!plan) return std::unexpected(plan.error());
    shared_bytes = plan->bytes();
    reads->streams_ =
        std::make_unique<StreamBlocks>(source, std::make_shared<Area>(reads->ledger_, plan->bytes()), *plan);
  }
  const bool has_chunks = !source.storage().arrays.empty();
  const std::uint64_t to_share = has_chunks ? memory * 3 / 8 : memory / 2;
  if (const auto plan = plan_lookahead(source, {std::uint64_t{request.threads} * kMinSamplesAhead, to_share})) {
    shared_bytes += plan->bytes();
    std::vector<std::size_t> stored;
    for (const std::size_t field : request.fields)
      if (source.fields()[field].form != FieldForm::kIndex) stored.push_back(field);
    reads->lookahead_memory_ = std::make_shared<LookaheadMemory>(source, reads->ledger_, *plan);
    reads->lookahead_ =
        std::make_unique<Lookahead>(source, std::move(stored), reads->lookahead_memory_, *plan, nullptr);
    OrderSpec in_order;
    in_order.samples = source.size();
    RankSlice everything;
    everything.epoch_size = source.size();
    reads->lookahead_->start(make_epoch_order(in_order, 0), everything);
  }
  // One half is divided into shares, one for every possible worker; the other half is for one large sample or chunk at
  // a time.
  const std::uint64_t scratch = memory - shared_bytes, workers = request.workers;
  const std::uint64_t for_chunks = has_chunks ? scratch * 3 / 5 : 0;
  const auto share_of = [&](std::uint64_t bytes) { return std::min(bytes / (2 * workers), kMaxWorkerShare); };
  const std::uint64_t share = share_of(scratch - for_chunks), chunk_share = share_of(for_chunks);
  reads->chunk_budget_.emplace(*reads->ledger_, chunk_share, for_chunks - chunk_share * workers);
  reads->budget_.emplace(*reads->ledger_, share, scratch - for_chunks - share * workers);
  reads->budget_->chunks = &*reads->chunk_budget_;
  return reads;
}

void SourceReads::interrupt() {
  if (streams_) streams_->interrupt();
  if (lookahead_) lookahead_->interrupt();
}

ChunkStats SourceReads::chunk_stats() const { return lookahead_ ? lookahead_memory_->stats() : ChunkStats{}; }

}  // namespace penstock
