// The statistics of a whole source: every sample is made once, and each field measured by its kind.
// The command line prints them, and ps.statistics() returns them.
#pragma once

#include <vector>

#include "statistics/field_statistics.h"
#include "statistics/visit_samples.h"

namespace penstock {

struct Statistics {
  Visit visit;                          // samples that could not be read are left out, and listed there
  std::vector<FieldStatistics> fields;  // those asked for, in the order of the source

  // False where no field could be read. Labels that the index holds prove nothing: a folder of broken pictures
  // has them, too.
  bool has_read_any() const;
};

// Fails where nothing can be done at all, where `options.progress` says to stop, and for samples that are drawn
// at random, which have no end.
Result<Statistics> measure(const SourcePtr& source, const VisitOptions& options);

}  // namespace penstock
