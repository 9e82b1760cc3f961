// Where patches of a volume can begin: everywhere (random patches), or on a grid that covers it.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/array.h"

namespace penstock {

// The axes of a patch are the last axes of the volume; only these are counted here. Patches lie within a
// box of the volume, from `begin` to before `end`, which is at least as large as a patch.
class PatchGrid {
 public:
  // Every origin at which a patch of this size fits.
  static PatchGrid everywhere(const Shape& begin, const Shape& end, const Shape& patch);
  // Origins `patch - overlap` apart; the last along each axis is moved back so that it fits.
  static PatchGrid covering(const Shape& begin, const Shape& end, const Shape& patch, const Shape& overlap);

  std::uint64_t size() const { return size_; }
  Shape origin(std::uint64_t number) const;
  std::uint64_t number_of(const Shape& origin) const;  // for everywhere() only
  const Shape& first() const { return first_; }        // the first origin
  const Shape& last() const { return last_; }          // the last one

  // Regions divide the origins of everywhere() into boxes of about `edge` along each axis, as equal in size
  // as whole numbers allow.
  std::uint64_t regions(const Shape& edge) const;
  struct Region {
    Shape first, size;
  };
  Region region(std::uint64_t number, const Shape& edge) const;
  // The region that holds origin `rank`, with the origins counted region after region. Numbers drawn
  // uniformly below size() thus give regions in proportion to their sizes.
  Region region_at(std::uint64_t rank, const Shape& edge) const;

 private:
  Shape first_, counts_, step_, last_;  // the first origin; how many; their distance; the farthest
  std::uint64_t size_ = 0;
};

}  // namespace penstock
