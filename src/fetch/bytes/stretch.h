// Consecutive bytes of an object that are in memory. One stretch may hold several fields of a sample.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "penstock/source.h"

namespace penstock {

struct Stretch {
  std::string object;
  std::uint64_t begin = 0;
  ConstBytes bytes;  // empty: the stretch holds nothing

  // An object that belongs to one sample is always read as a whole, so its length need not be known.
  bool holds(const Extent& extent) const {
    if (bytes.empty() || object != extent.object) return false;
    if (!extent.shared_object) return true;
    return extent.offset >= begin && extent.offset + extent.length <= begin + bytes.size();
  }
  ConstBytes bytes_of(const Extent& extent) const {
    return extent.shared_object ? bytes.subspan(extent.offset - begin, extent.length) : bytes;
  }
};

}  // namespace penstock
