#include "plan/coalesce.h"

#include <algorithm>
#include <numeric>

namespace penstock {
namespace {

bool can_join(const ObjectRead& read) {
  return !read.only_version && !read.range.from_end && read.range.length != ByteRange::kToTheEnd;
}

std::uint64_t end_of(const ObjectRead& read) { return read.range.offset + read.range.length; }

}  // namespace

std::vector<JoinedRead> coalesce(std::span<const ObjectRead> wanted, const MergeRule& rule) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    if (const int by_key = wanted[a].key.compare(wanted[b].key); by_key != 0) return by_key < 0;
    return wanted[a].range.offset < wanted[b].range.offset;
  });
  std::vector<JoinedRead> joined;
  for (const std::size_t index : order) {
    const ObjectRead& read = wanted[index];
    if (!joined.empty() && can_join(read) && can_join(joined.back().read)) {
      ObjectRead& last = joined.back().read;
      const std::uint64_t end = std::max(end_of(last), end_of(read));
      const bool near = read.range.offset <= end_of(last) + rule.max_gap_bytes;
      if (last.key == read.key && last.version == read.version && near &&
          end - last.range.offset <= rule.max_bytes) {
        last.range.length = end - last.range.offset;
        last.max_bytes = last.range.length;
        joined.back().parts.push_back(index);
        continue;
      }
    }
    joined.push_back({read, {index}});
  }
  std::ranges::sort(joined, {}, [](const JoinedRead& read) { return std::ranges::min(read.parts); });
  return joined;
}

}  // namespace penstock
