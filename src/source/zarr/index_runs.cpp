#include "source/zarr/index_runs.h"

#include <algorithm>

namespace penstock {

void IndexRuns::append(const IndexRun& run) {
  if (run.count == 0) return;
  ends_.push_back(count() + run.count);
  runs_.push_back(run);
}

void IndexRuns::append(std::int64_t index) {
  if (!runs_.empty()) {
    IndexRun& last = runs_.back();
    if (last.count == 1 && index > last.first) last.step = index - last.first;
    if (index == last.first + last.count * last.step) {
      ++last.count;
      ++ends_.back();
      return;
    }
    if (last.count == 1) last.step = 1;
  }
  append(IndexRun{index, 1, 1});
}

IndexRun IndexRuns::from(std::int64_t position) const {
  const auto end = std::ranges::upper_bound(ends_, position);
  const IndexRun& run = runs_[static_cast<std::size_t>(end - ends_.begin())];
  const std::int64_t done = position - (*end - run.count);
  return {run.first + done * run.step, run.count - done, run.step};
}

std::int64_t IndexRuns::at(std::int64_t position) const { return from(position).first; }

IndexRuns IndexRuns::reversed() const {
  IndexRuns backwards;
  for (std::size_t i = runs_.size(); i-- > 0;)
    backwards.append(IndexRun{runs_[i].last(), runs_[i].count, -runs_[i].step});
  return backwards;
}

IndexRuns IndexRuns::every(std::int64_t step) const {
  IndexRuns chosen;
  std::int64_t skipped = 0;  // entries of the next run before the first one that is taken
  for (const IndexRun& run : runs_) {
    if (skipped < run.count) {
      const std::int64_t taken = (run.count - skipped + step - 1) / step;
      chosen.append(IndexRun{run.first + skipped * run.step, taken, run.step * step});
      skipped += taken * step;
    }
    skipped -= run.count;
  }
  return chosen;
}

}  // namespace penstock
