// Makes every sample of a source once, with a pool of threads, and shows it to a function of the caller. Verifying a
// data set and measuring its statistics use it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "penstock/source.h"
#include "sample/sample_worker.h"

namespace penstock {

struct VisitOptions {
  std::vector<std::string> fields;  // names of fields of the source; empty: all
  unsigned threads = 0;             // 0: as many as affinity and cgroup allow
  std::uint64_t memory_bytes = 0;   // 0: a quarter of the free memory
  // Called now and then on the calling thread. The visit stops when it returns false.
  std::function<bool(std::uint64_t samples)> progress;
};

// A value that could not be made.
struct BadValue {
  Error error;        // names the sample
  std::string field;  // empty: all fields of the sample fail for the same reason, or only all of them together fail
};

struct Visit {
  std::uint64_t samples = 0, bad_samples = 0;
  std::uint64_t bytes = 0;    // bytes read; for compressed shards, after decompression
  std::vector<BadValue> bad;  // sorted by sample
  ChunkStats chunks;
  unsigned threads = 0;
  double seconds = 0;
};

// Called once per thread, before any of them starts. Only that thread calls the function that it returns. `Seen::field`
// is the number of a field of the source.
using LookForThread = std::function<LookAtField()>;

// A bad value does not hide the other fields of its sample or other samples. Fields that are not everywhere may be
// missing. Fails only if no sample can be visited at all, or if it was stopped.
Result<Visit> visit_samples(const SourcePtr& source, const VisitOptions& options, const LookForThread& look);

}  // namespace penstock
