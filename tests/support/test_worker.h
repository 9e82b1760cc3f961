// What a worker thread brings along to read and make samples.
#pragma once

#include <memory>

#include "base/memory/ledger.h"
#include "base/memory/scratch.h"
#include "base/stats.h"
#include "fetch/bytes/byte_provider.h"
#include "transform/context.h"

namespace penstock {

struct TestWorker {
  // `bytes` of scratch memory, and a ledger of four times as many.
  explicit TestWorker(std::uint64_t bytes = 16 << 20)
      : ledger(std::make_shared<Ledger>(4 * bytes)),
        budget(*ledger, bytes, 0) {}

  const std::shared_ptr<Ledger> ledger;
  ScratchBudget budget;
  Scratch scratch{budget};
  static constexpr std::size_t kCacheTiers = 3;  // as many as any test has
  WorkerCounters counters{kCacheTiers};
  StageClock clock{counters};
  Context context{scratch, clock};
  ReadOrigin origin;
};

}  // namespace penstock
