#include "source/zarr/zarr_boxes.h"

#include <algorithm>

namespace penstock {
namespace {

// The offset in the sample of the entry with which the box begins. Steps of a box are positive, so a run that is taken
// backwards begins with its last entry.
std::int64_t begin_of(const IndexRun& run, std::int64_t stride) {
  return run.step < 0 ? (run.count - 1) * stride : 0;
}

void set_axis(ArrayBox& box, std::size_t axis, const IndexRun& run, std::int64_t stride) {
  const bool is_backwards = run.step < 0;
  box.origin[axis] = is_backwards ? run.last() : run.first;
  box.count[axis] = run.count;
  box.step[axis] = is_backwards ? -run.step : run.step;
  box.to_stride[axis] = is_backwards ? -stride : stride;
  box.to += begin_of(run, stride);
}

// Divides the boxes along one axis into one box per run of indexes. The boxes already have the first run.
void split_into_runs(std::vector<ArrayBox>& boxes, std::size_t first, std::size_t axis, const IndexRuns& runs,
                     std::int64_t stride) {
  const std::size_t end = boxes.size();
  const IndexRun& first_run = runs.runs().front();
  std::int64_t position = first_run.count;
  for (const IndexRun& run : runs.runs().subspan(1)) {
    for (std::size_t b = first; b < end; ++b) {
      ArrayBox& box = boxes.emplace_back(ArrayBox(boxes[b]));
      box.to += position * stride - begin_of(first_run, stride);
      set_axis(box, axis, run, stride);
    }
    position += run.count;
  }
}

// Divides the boxes along one axis into one box per index.
void split_along(std::vector<ArrayBox>& boxes, std::size_t first, std::size_t axis) {
  const std::size_t end = boxes.size();
  for (std::size_t b = first; b < end; ++b) {
    const ArrayBox whole = boxes[b];
    boxes[b].count[axis] = 1;
    for (std::int64_t i = 1; i < whole.count[axis]; ++i) {
      ArrayBox& one = boxes.emplace_back(ArrayBox(boxes[b]));
      one.origin[axis] += i * whole.step[axis];
      one.to += i * whole.to_stride[axis];
    }
  }
}

// `times` are positions on the sample axis of this part. The channels of a stack run through all axes of the
// variable but its last two, in their order.
void add_boxes_of_part(const Variable& variable, std::size_t first_array, std::size_t part,
                       const IndexRun& times, const BoxTarget& target, std::vector<ArrayBox>& out) {
  ArrayBox box;
  box.array = first_array + part;
  box.to = target.to;
  box.coding = variable.parts[part].coding.get();
  ArrayBox::Axes strides{};
  std::int64_t stride = 1;
  for (std::size_t d = variable.taken.size(); d-- > 0;) {
    const bool is_time = static_cast<int>(d) == variable.sample_axis;
    const IndexRuns& entries = variable.taken[d].entries;
    strides[d] = is_time ? target.step_stride : stride;
    set_axis(box, d, is_time ? times : entries.runs().front(), strides[d]);
    if (!is_time) stride *= entries.count();
  }
  const std::size_t first = out.size();
  out.push_back(box);
  std::size_t own = 0;
  for (std::size_t d = variable.taken.size(); d-- > 0;) {
    if (!variable.is_axis_of_sample(d)) continue;
    split_into_runs(out, first, d, variable.taken[d].entries, strides[d]);
    // A box can cover only one of the axes that are merged into channels, because an axis of a box is one axis of
    // the sample.
    if (target.is_stack && ++own > 3) split_along(out, first, d);
  }
}

}  // namespace

void add_boxes_of_steps(const Variable& variable, std::size_t first_array, IndexRun times, BoxTarget target,
                        std::vector<ArrayBox>& out) {
  if (variable.sample_axis < 0) return add_boxes_of_part(variable, first_array, 0, times, target, out);
  while (times.count > 0) {
    const std::size_t part = variable.part_of(times.first);
    const std::int64_t begin = variable.parts[part].first;
    IndexRun here = times;
    here.count = entries_within(times, begin, variable.end_of(part));
    here.first -= begin;
    add_boxes_of_part(variable, first_array, part, here, target, out);
    times.first += here.count * times.step;
    times.count -= here.count;
    target.to += here.count * target.step_stride;
  }
}

std::int64_t entries_within(const IndexRun& run, std::int64_t begin, std::int64_t end) {
  const std::int64_t up_to_border =
      run.step < 0 ? (run.first - begin) / -run.step + 1 : (end - run.first + run.step - 1) / run.step;
  return std::min(run.count, up_to_border);
}

}  // namespace penstock
