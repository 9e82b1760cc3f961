// Packs the shards of one group of fields that belong to one part.
//
// It checks which shards are there, divides the memory among readers, encoders and a block of samples, and then works in
// passes: a block is read as a whole, its chunks are encoded by all threads, and added to their shards in order.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "base/memory/ledger.h"
#include "pack/zarr/pack_plan.h"
#include "store/store.h"

namespace penstock {

// All references are borrowed for the call.
struct GroupTask {
  const SourcePtr& source;
  const Store& store;
  const std::string& root;
  const ZarrPackOptions& options;
  const PackPlan& plan;
  const FieldGroup& group;
  Ledger& ledger;
  const std::function<bool()>& go_on;  // packing stops with kStopped when it returns false
  std::atomic<std::uint64_t>& done;    // bytes of elements that are in finished shards, or on their way there
};

// Adds to the counts of `report`, whose threads it uses.
Status pack_group(const GroupTask& task, ZarrPackReport& report);

}  // namespace penstock
