// Random patches: drawn from regions of neighbouring places, several at each visit, so that they
// share the chunks they are cut from.
//
// A region is about half a chunk or half a patch wide along each axis, whichever is more. Regions
// are visited in proportion to the places in them (those of one volume alike), and within one every
// place is as likely as another. With a minimum of foreground only places that have it are drawn,
// and regions that have none are left out.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "penstock/arrays.h"
#include "source/foreground.h"
#include "source/patches/patch_volumes.h"

namespace penstock {

class PatchDraws final : public SampleDraws {
 public:
  // Reads all labels where options.min_foreground asks for it. `volumes` must outlive this.
  static Result<std::unique_ptr<const PatchDraws>> make(const PatchVolumes& volumes,
                                                        const PatchOptions& options);

  std::uint64_t per_epoch() const override { return per_epoch_; }
  std::uint64_t regions() const override { return turns_.back(); }
  std::uint64_t per_visit() const override { return per_visit_; }
  std::uint64_t draw(std::uint64_t region, std::uint64_t key) const override;

 private:
  explicit PatchDraws(const PatchVolumes& volumes) : volumes_(volumes) {}

  void divide();
  std::size_t volume_of(std::uint64_t region) const;
  Status find_foreground(const PatchOptions& options);
  bool has_foreground(const PatchGrid::Region& box, std::size_t volume) const;
  void keep_parts_with_foreground(std::uint64_t region, std::size_t volume);
  std::optional<std::uint64_t> first_place(const std::vector<PatchGrid::Region>& parts,
                                           std::size_t volume) const;
  std::uint64_t sample_at(std::size_t volume, const Shape& origin) const;

  const PatchVolumes& volumes_;
  std::uint64_t per_epoch_ = 0, per_visit_ = 1, regions_ = 0;
  std::vector<Shape> edges_;                 // of regions, by volume
  std::vector<std::uint64_t> first_region_;  // of each volume
  std::vector<ForegroundMap> foreground_;    // of each volume
  std::uint64_t least_foreground_ = 0;       // elements of a patch
  // Of regions with foreground: boxes of places that may have enough, and one that has.
  struct Live {
    std::uint64_t region = 0, sample = 0;
    std::vector<PatchGrid::Region> parts;
    std::vector<std::uint64_t> ends;  // of parts, counted in places
  };
  std::vector<Live> live_;
  std::vector<std::uint64_t> weights_;  // of regions, by volume: how often they are visited in turn
  std::vector<std::uint64_t> turns_;    // before each volume (or live region), and all
};

}  // namespace penstock
