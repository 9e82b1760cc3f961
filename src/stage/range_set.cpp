#include "stage/range_set.h"

#include <algorithm>
#include <iterator>

namespace penstock {

std::uint64_t RangeSet::add(ByteSpan span) {
  if (span.begin >= span.end) return 0;
  const std::uint64_t before = bytes_;
  auto at = end_of_.upper_bound(span.begin);
  if (at != end_of_.begin() && std::prev(at)->second >= span.begin) --at;
  while (at != end_of_.end() && at->first <= span.end) {
    span.begin = std::min(span.begin, at->first);
    span.end = std::max(span.end, at->second);
    bytes_ -= at->second - at->first;
    at = end_of_.erase(at);
  }
  end_of_.emplace_hint(at, span.begin, span.end);
  bytes_ += span.size();
  return bytes_ - before;
}

bool RangeSet::has(ByteSpan span) const {
  if (span.begin >= span.end) return true;
  const auto after = end_of_.upper_bound(span.begin);
  return after != end_of_.begin() && std::prev(after)->second >= span.end;
}

std::vector<ByteSpan> RangeSet::missing(ByteSpan span) const {
  std::vector<ByteSpan> out;
  auto at = end_of_.upper_bound(span.begin);
  if (at != end_of_.begin()) --at;
  for (; at != end_of_.end() && span.begin < span.end && at->first < span.end; ++at) {
    if (at->first > span.begin) out.push_back({span.begin, at->first});
    span.begin = std::max(span.begin, at->second);
  }
  if (span.begin < span.end) out.push_back(span);
  return out;
}

}  // namespace penstock
