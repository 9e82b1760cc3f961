// Where an extent is, for errors.
#pragma once

#include "penstock/source.h"

namespace penstock {

inline Where where_of(const Extent& extent) {
  return {extent.object, static_cast<std::int64_t>(extent.offset), static_cast<std::int64_t>(extent.length),
          -1};
}

}  // namespace penstock
