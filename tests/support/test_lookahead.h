// A look ahead over all samples of a source, in their own order.
#pragma once

#include <memory>
#include <numeric>
#include <vector>

#include "fetch/lookahead.h"
#include "order/epoch_order.h"

namespace penstock {

struct TestLookahead {
  explicit TestLookahead(const Source& source_, const LookaheadPlan& plan, std::uint64_t batch_size_ = 1,
                         const SampleCache* cache = nullptr)
      : source(source_),
        batch_size(batch_size_),
        memory(std::make_shared<LookaheadMemory>(source, ledger, plan)),
        lookahead(source, all_fields(source), memory, plan, cache) {
    start();
  }

  // Another epoch.
  void start() { lookahead.start(order(), slice()); }

  std::shared_ptr<const EpochOrder> order() const { return make_epoch_order({.samples = source.size()}, 0); }
  RankSlice slice() const { return {.epoch_size = source.size(), .batch_size = batch_size}; }
  static std::vector<std::size_t> all_fields(const Source& source) {
    std::vector<std::size_t> fields(source.fields().size());
    std::iota(fields.begin(), fields.end(), std::size_t{0});
    return fields;
  }

  const Source& source;
  const std::uint64_t batch_size;
  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>(64 << 20);
  std::shared_ptr<LookaheadMemory> memory;
  Lookahead lookahead;
};

}  // namespace penstock
