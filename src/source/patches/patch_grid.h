// The origins that patches of a volume can have: all of them (random patches), or a grid that covers the volume.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/array.h"

namespace penstock {

// Only the axes of a patch are counted, which are the last axes of the volume. Patches lie within a box of the
// volume, from `begin` to before `end`, which is at least as large as a patch. Immutable and thread-safe.
class PatchGrid {
 public:
  // All origins at which a patch of this size fits.
  static PatchGrid everywhere(const Shape& begin, const Shape& end, const Shape& patch);
  // Origins that are `patch - overlap` apart. Along each axis, the last one is moved back so that its patch
  // fits.
  static PatchGrid covering(const Shape& begin, const Shape& end, const Shape& patch, const Shape& overlap);

  std::uint64_t size() const { return size_; }
  Shape origin(std::uint64_t number) const;
  std::uint64_t number_of(const Shape& origin) const;  // for everywhere() only
  const Shape& first() const { return first_; }        // the first origin
  const Shape& last() const { return last_; }          // the last one

  // Regions divide the origins of everywhere() into boxes of about `edge` along each axis, whose sizes are as
  // equal as integers allow.
  std::uint64_t regions(const Shape& edge) const;
  struct Region {
    Shape first, size;
  };
  Region region(std::uint64_t number, const Shape& edge) const;
  // The region that contains origin number `rank`, where the origins are counted region by region. A rank that
  // is drawn uniformly below size() thus selects regions in proportion to their sizes.
  Region region_at(std::uint64_t rank, const Shape& edge) const;

 private:
  // First origin, number of origins, distance between them, last origin; per axis.
  Shape first_, counts_, step_, last_;
  std::uint64_t size_ = 0;
};

}  // namespace penstock
