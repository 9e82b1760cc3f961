#include "source/patches/patch_grid.h"

#include <gtest/gtest.h>

#include <map>

namespace penstock {
namespace {

TEST(PatchGrid, ranks_visit_each_region_once_for_each_of_its_origins) {
  const struct {
    Shape begin, end, patch, edge;
  } rows[] = {{{0, 0, 0}, {13, 11, 17}, {4, 5, 6}, {3, 3, 4}},
              {{2, 5}, {40, 30}, {7, 4}, {5, 6}},
              {{0}, {100}, {1}, {7}},
              {{1, 1, 1}, {5, 5, 5}, {4, 4, 4}, {2, 2, 2}}};
  for (const auto& row : rows) {
    const PatchGrid grid = PatchGrid::everywhere(row.begin, row.end, row.patch);
    std::map<Shape, std::pair<Shape, std::uint64_t>> seen;  // by the first origin: size, visits
    for (std::uint64_t rank = 0; rank < grid.size(); ++rank) {
      const PatchGrid::Region region = grid.region_at(rank, row.edge);
      auto& [size, visits] = seen[region.first];
      size = region.size;
      ++visits;
    }
    EXPECT_EQ(seen.size(), grid.regions(row.edge));
    for (std::uint64_t number = 0; number < grid.regions(row.edge); ++number) {
      const PatchGrid::Region region = grid.region(number, row.edge);
      ASSERT_TRUE(seen.contains(region.first));
      EXPECT_EQ(seen[region.first].first, region.size);
      EXPECT_EQ(seen[region.first].second, element_count(region.size));
    }
  }
}

TEST(PatchGrid, origins_lie_within_the_bounds_and_have_their_numbers) {
  const PatchGrid every = PatchGrid::everywhere({3, 2}, {12, 9}, {4, 5});
  EXPECT_EQ(every.size(), 6u * 3u);
  for (std::uint64_t number = 0; number < every.size(); ++number)
    EXPECT_EQ(every.number_of(every.origin(number)), number);
  EXPECT_EQ(every.origin(0), (Shape{3, 2}));
  EXPECT_EQ(every.origin(every.size() - 1), (Shape{8, 4}));
  const PatchGrid covering = PatchGrid::covering({3, 2}, {13, 9}, {4, 5}, {1, 0});
  EXPECT_EQ(covering.size(), 3u * 2u);
  EXPECT_EQ(covering.origin(0), (Shape{3, 2}));
  EXPECT_EQ(covering.origin(5), (Shape{9, 4}));
}

}  // namespace
}  // namespace penstock
