// The bytes of an object that are known, as ranges that neither overlap nor touch.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace penstock {

// [begin, end)
struct ByteSpan {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
  bool operator==(const ByteSpan&) const = default;
};

// Thread-compatible. One node per range, and adding a range joins it with its neighbours, so the set of an object that
// is copied in order has one.
class RangeSet {
 public:
  // Returns how many of the bytes are new.
  std::uint64_t add(ByteSpan span);
  bool has(ByteSpan span) const;
  // The parts of `span` that are not in the set, in order.
  std::vector<ByteSpan> missing(ByteSpan span) const;
  std::uint64_t bytes() const { return bytes_; }
  std::size_t ranges() const { return end_of_.size(); }

 private:
  std::map<std::uint64_t, std::uint64_t> end_of_;  // begin -> end
  std::uint64_t bytes_ = 0;
};

}  // namespace penstock
