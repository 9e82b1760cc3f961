// Random patches: drawn from regions of neighbouring places, several at each visit, so that they
// share the chunks they are cut from.
//
// A region is about half a chunk or half a patch wide along each axis, whichever is more. All
// regions are visited alike, and within one every place is as likely as another. With a minimum of
// foreground only places that have it are drawn, and regions that have none are left out.
#pragma once

#include <memory>
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
  std::uint64_t regions() const override { return live_.empty() ? regions_ : live_.size(); }
  std::uint64_t per_visit() const override { return per_visit_; }
  std::uint64_t draw(std::uint64_t region, std::uint64_t key) const override;

 private:
  explicit PatchDraws(const PatchVolumes& volumes) : volumes_(volumes) {}

  void divide();
  Status find_foreground(const PatchOptions& options);
  // A place in the region that has enough foreground; nothing where none was found.
  std::optional<std::uint64_t> try_draw(std::uint64_t region, std::uint64_t key) const;
  bool has_foreground(std::size_t volume, const Shape& origin) const;

  const PatchVolumes& volumes_;
  std::uint64_t per_epoch_ = 0, per_visit_ = 1, regions_ = 0;
  std::vector<Shape> edges_;                 // of regions, by volume
  std::vector<std::uint64_t> first_region_;  // of each volume
  std::vector<ForegroundMap> foreground_;    // of each volume
  std::uint64_t least_foreground_ = 0;       // elements of a patch
  struct Live {
    std::uint64_t region, sample;  // a place that has enough, in case that luck fails
  };
  std::vector<Live> live_;
};

}  // namespace penstock
