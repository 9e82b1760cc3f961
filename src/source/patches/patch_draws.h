// Draws random patches. Several patches per visit are drawn from a region of neighbouring positions, so that they
// share the chunks that they are cut from.
//
// Along each axis, a region is about half a chunk or half a patch wide, whichever is more. Every position gets
// exactly its share of the draws (systematic sampling): the regions are laid out along a line on which each is as
// long as its share, the draws are equally spaced on that line from a random start, and each draw takes every
// position of its region with the same probability. Without weights, the share of a region is its number of
// allowed positions.
//
// Immutable after make() and thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "penstock/source.h"
#include "source/patches/position_sets.h"
#include "source/sample_draws.h"

namespace penstock {

class PatchDraws final : public SampleDraws {
 public:
  // Reads all labels and masks if the options need them. `volumes` must outlive the result.
  static Result<std::unique_ptr<const PatchDraws>> make(const PatchVolumes& volumes,
                                                        const PatchOptions& options);

  std::uint64_t per_epoch() const override { return per_epoch_; }
  std::uint64_t visits_per_pass() const override { return visits_; }
  std::uint64_t per_visit() const override { return per_visit_; }
  std::uint64_t draw(std::uint64_t point, std::uint64_t key) const override;
  // A hash of everything that influences the draws.
  std::uint64_t fingerprint() const;

 private:
  // A set of equally likely positions, with its share of all draws.
  struct Stratum {
    PositionSet set;
    Shape edge;  // extent of its regions
    std::uint64_t positions = 0;
    // Its share out of the total, which is the `end` of the last stratum; the sum of shares up to this one.
    std::uint64_t share = 0, end = 0;
    std::vector<std::uint64_t> regions;  // the regions with positions, if the set has centres
    std::vector<std::uint64_t> ends;  // per region, the number of positions up to its end
  };

  explicit PatchDraws(const PatchVolumes& volumes) : volumes_(volumes) {}

  Status count_positions(Stratum& stratum, const PatchOptions& options) const;
  Status find_strata(std::vector<PositionSet> sets, const PatchOptions& options);
  Status divide_draws(const PatchOptions& options);
  Shape region_edge(const PatchVolume& volume, bool is_listed) const;
  Shape centre_of(const Shape& origin) const;

  const PatchVolumes& volumes_;
  std::uint64_t per_epoch_ = 0, per_visit_ = 1, visits_ = 0;
  std::vector<Stratum> strata_;
};

}  // namespace penstock
