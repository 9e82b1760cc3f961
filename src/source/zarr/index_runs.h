// Entries of a dimension, in the order in which they are taken.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

// The indexes first, first + step, ... of a dimension. The step may be negative.
struct IndexRun {
  std::int64_t first = 0, count = 0, step = 1;

  std::int64_t last() const { return first + (count - 1) * step; }

  bool operator==(const IndexRun&) const = default;
};

// A sequence of runs. A selection is mostly a single run; a list of values, or a range that wraps around, has
// several.
class IndexRuns {
 public:
  IndexRuns() = default;
  explicit IndexRuns(const IndexRun& run) { append(run); }

  void append(const IndexRun& run);
  // Extends the last run if possible.
  void append(std::int64_t index);

  std::int64_t count() const { return ends_.empty() ? 0 : ends_.back(); }
  std::span<const IndexRun> runs() const { return runs_; }
  // The index at a position, which must be less than count().
  std::int64_t at(std::int64_t position) const;
  // The remainder of the run that contains the position, beginning with that position.
  IndexRun from(std::int64_t position) const;
  // Every `step`-th entry.
  IndexRuns every(std::int64_t step) const;
  // The same entries in reverse order.
  IndexRuns reversed() const;

  bool operator==(const IndexRuns& other) const { return runs_ == other.runs_; }

 private:
  std::vector<IndexRun> runs_;
  std::vector<std::int64_t> ends_;  // per run, the number of entries up to its end
};

}  // namespace penstock
