// Random patches: drawn from regions of neighbouring places, several at each visit, so that they
// share the chunks they are cut from.
//
// A region is about half a chunk or half a patch wide along each axis, whichever is more. Regions
// are visited in proportion to the places in them (those of one volume alike), and within one every
// place is as likely as another. With a minimum of foreground only places that have it are drawn,
// and regions that have none are left out.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
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
  // Boxes of a region's places that may have enough foreground.
  struct Parts {
    std::vector<PatchGrid::Region> boxes;
    std::vector<std::uint64_t> ends;  // of boxes, counted in places
  };
  struct Live {
    std::uint64_t region = 0, sample = 0;  // one that has enough
  };

  explicit PatchDraws(const PatchVolumes& volumes) : volumes_(volumes) {}

  void divide();
  std::size_t volume_of(std::uint64_t region) const;
  Status find_foreground(const PatchOptions& options);
  bool has_foreground(const PatchGrid::Region& box, std::size_t volume) const;
  Parts parts_with_foreground(std::uint64_t region, std::size_t volume) const;
  std::shared_ptr<const Parts> parts_of(std::uint64_t region, std::size_t volume) const;
  std::optional<std::uint64_t> first_place(const Parts& parts, std::size_t volume) const;
  std::uint64_t sample_at(std::size_t volume, const Shape& origin) const;

  const PatchVolumes& volumes_;
  std::uint64_t per_epoch_ = 0, per_visit_ = 1, regions_ = 0;
  std::vector<Shape> edges_;                 // of regions, by volume
  std::vector<std::uint64_t> first_region_;  // of each volume
  std::vector<ForegroundMap> foreground_;    // of each volume
  std::uint64_t least_foreground_ = 0;       // elements of a patch
  std::vector<Live> live_;                   // regions with foreground
  std::vector<std::uint64_t> weights_;       // of regions, by volume: how often they are visited in turn
  std::vector<std::uint64_t> turns_;         // before each volume (or live region), and all

  // Parts are found again when a region is visited, and kept while it is: those of all regions would
  // take more memory than the labels.
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::uint64_t, std::shared_ptr<const Parts>> parts_;  // guarded by mutex_
  mutable std::deque<std::uint64_t> oldest_;                                       // guarded by mutex_
};

}  // namespace penstock
