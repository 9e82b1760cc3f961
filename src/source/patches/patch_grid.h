// Where patches of a volume can begin: everywhere (random patches), or on a grid that covers it.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/array.h"

namespace penstock {

// The axes of a patch are the last axes of the volume; only these are counted here.
class PatchGrid {
 public:
  // Every origin at which a patch of this size fits. `volume` is at least as large as `patch`.
  static PatchGrid everywhere(const Shape& volume, const Shape& patch);
  // Origins `patch - overlap` apart; the last along each axis moved back so that it fits.
  static PatchGrid covering(const Shape& volume, const Shape& patch, const Shape& overlap);

  std::uint64_t size() const { return size_; }
  Shape origin(std::uint64_t number) const;
  std::uint64_t number_of(const Shape& origin) const;  // of everywhere() only

  // Regions of origins of about `edge` along each axis, as equal in size as whole numbers allow, so
  // that visiting all regions alike visits all origins alike.
  std::uint64_t regions(const Shape& edge) const;
  struct Region {
    Shape first, size;
  };
  Region region(std::uint64_t number, const Shape& edge) const;

 private:
  Shape counts_, step_, last_;  // of origins; from one to the next; the farthest
  std::uint64_t size_ = 0;
};

}  // namespace penstock
