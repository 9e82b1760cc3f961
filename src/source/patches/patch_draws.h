// Random patches: drawn from regions of neighbouring places, several at each visit, so that they
// share the chunks they are cut from.
//
// A region is about half a chunk or half a patch wide along each axis, whichever is more. Every place has
// exactly its share of the draws: draws lie at equal distances, from a random start, along a line on which
// each region is as long as its share (systematic sampling), and a draw takes each place of its region with
// the same probability. Without weights the shares are the numbers of allowed places.
#pragma once

#include <memory>
#include <vector>

#include "penstock/arrays.h"
#include "source/patches/place_sets.h"
#include "source/sample_draws.h"

namespace penstock {

class PatchDraws final : public SampleDraws {
 public:
  // Reads all labels and masks where the options ask for it. `volumes` must outlive this.
  static Result<std::unique_ptr<const PatchDraws>> make(const PatchVolumes& volumes,
                                                        const PatchOptions& options);

  std::uint64_t per_epoch() const override { return per_epoch_; }
  std::uint64_t visits_per_pass() const override { return visits_; }
  std::uint64_t per_visit() const override { return per_visit_; }
  std::uint64_t draw(std::uint64_t point, std::uint64_t key) const override;
  // Changes with everything that changes what is drawn.
  std::uint64_t fingerprint() const;

 private:
  // A set of equally likely places, with its share of all draws.
  struct Stratum {
    PlaceSet set;
    Shape edge;  // of its regions
    std::uint64_t places = 0;
    std::uint64_t share = 0, end = 0;    // out of end of the last one; of this one and those before
    std::vector<std::uint64_t> regions;  // that have places, where the set has centres
    std::vector<std::uint64_t> ends;     // of these regions, counted in places
  };

  explicit PatchDraws(const PatchVolumes& volumes) : volumes_(volumes) {}

  Status count_places(Stratum& stratum, const PatchOptions& options) const;
  Status find_strata(std::vector<PlaceSet> sets, const PatchOptions& options);
  Status divide_draws(const PatchOptions& options);
  Shape region_edge(const PatchVolume& volume, bool is_listed) const;
  Shape centre_of(const Shape& origin) const;

  const PatchVolumes& volumes_;
  std::uint64_t per_epoch_ = 0, per_visit_ = 1, visits_ = 0;
  std::vector<Stratum> strata_;
};

}  // namespace penstock
