#include "stage/range_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(RangeSet, ranges_that_touch_become_one) {
  RangeSet set;
  EXPECT_EQ(set.add({0, 10}), 10);
  EXPECT_EQ(set.add({20, 30}), 10);
  EXPECT_EQ(set.ranges(), 2);
  EXPECT_EQ(set.add({10, 20}), 10);
  EXPECT_EQ(set.ranges(), 1);
  EXPECT_TRUE(set.has({0, 30}));
  EXPECT_EQ(set.add({5, 25}), 0);
  EXPECT_EQ(set.bytes(), 30);
}

TEST(RangeSet, the_gaps_of_a_span_are_its_missing_bytes) {
  RangeSet set;
  EXPECT_THAT(set.missing({3, 7}), ElementsAre(ByteSpan{3, 7}));
  set.add({4, 5});
  set.add({6, 9});
  EXPECT_THAT(set.missing({3, 12}), ElementsAre(ByteSpan{3, 4}, ByteSpan{5, 6}, ByteSpan{9, 12}));
  EXPECT_THAT(set.missing({6, 8}), IsEmpty());
  EXPECT_THAT(set.missing({5, 6}), ElementsAre(ByteSpan{5, 6}));
  EXPECT_THAT(set.missing({7, 7}), IsEmpty());
}

TEST(RangeSet, agrees_with_a_list_of_bytes) {
  for (std::uint64_t round = 0; round < 200; ++round) {
    Draws draws(7, 0, round);
    RangeSet set;
    std::vector<bool> bytes(60);
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t begin = draws.below(60), end = begin + draws.below(61 - begin);
      std::uint64_t fresh = 0;
      for (std::uint64_t at = begin; at < end; ++at) fresh += !bytes[at], bytes[at] = true;
      ASSERT_EQ(set.add({begin, end}), fresh);
      const std::uint64_t from = draws.below(60), to = from + draws.below(61 - from);
      std::vector<bool> missing(60);
      for (const ByteSpan gap : set.missing({from, to}))
        for (std::uint64_t at = gap.begin; at < gap.end; ++at) missing[at] = true;
      bool has = true;
      for (std::uint64_t at = 0; at < 60; ++at) {
        const bool is_missing = at >= from && at < to && !bytes[at];
        ASSERT_EQ(missing[at], is_missing);
        has = has && !is_missing;
      }
      ASSERT_EQ(set.has({from, to}), has);
    }
  }
}

}  // namespace
}  // namespace penstock
