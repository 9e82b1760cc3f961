// The statistics of a whole source. Every sample is made once, and each field is measured according to its kind. The
// command line prints them, and ps.statistics() returns them.
#pragma once

#include <vector>

#include "statistics/field_statistics.h"
#include "statistics/visit_samples.h"

namespace penstock {

struct Statistics {
  Visit visit;                          // lists the samples that could not be read, which the statistics leave out
  std::vector<FieldStatistics> fields;  // the requested fields, in the order of the source

  // Returns false if no field could be read. Labels from the index do not count, because a folder of broken images has
  // them too.
  bool has_read_any() const;
};

// Fails if no sample can be visited at all, if `options.progress` returns false, and for sources that draw their
// samples at random, because those have no end.
Result<Statistics> measure(const SourcePtr& source, const VisitOptions& options);

}  // namespace penstock
