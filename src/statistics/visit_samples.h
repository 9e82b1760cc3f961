// Every sample of a source made once, by a pool of threads, and shown to whoever wants to see it:
// what verifying a data set and measuring it have in common.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "penstock/source.h"
#include "sample/sample_worker.h"

namespace penstock {

struct VisitOptions {
  std::vector<std::string> fields;  // of the source; empty: all
  unsigned threads = 0;             // 0: what affinity and cgroup allow
  std::uint64_t memory_bytes = 0;   // 0: a quarter of what is free
  // Now and then, from the calling thread; false stops.
  std::function<bool(std::uint64_t samples)> progress;
};

// A value that could not be made.
struct BadValue {
  Error error;        // names the sample
  std::string field;  // empty: all fields of the sample for the same reason, or only taken together
};

struct Visit {
  std::uint64_t samples = 0, bad_samples = 0;
  std::uint64_t bytes = 0;    // read; of compressed shards, after decompression
  std::vector<BadValue> bad;  // by sample
  ChunkStats chunks;
  unsigned threads = 0;
  double seconds = 0;
};

// Called once for each thread, before any of them starts; what it returns is used by that thread
// alone. `Seen::field` counts the fields of the source.
using LookForThread = std::function<LookAtField()>;

// A bad value hides neither the other fields of its sample nor other samples. A field that is not
// everywhere may be missing. Fails only where nothing can be done at all, or where it was stopped.
Result<Visit> visit_samples(const SourcePtr& source, const VisitOptions& options, const LookForThread& look);

}  // namespace penstock
