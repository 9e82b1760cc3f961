#include "base/text/natural_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace penstock {
namespace {

TEST(NaturalOrder, numbers_compare_by_value) {
  const std::vector<std::string> sorted = {"",     "a",    "a0",      "a1",  "a01", "a1b",
                                           "a2",   "a10",  "a10b2",   "a10b10", "a100", "b",
                                           "b00000000000000000000000000000000001", "b99999999999999999999999999999999"};
  std::vector<std::string> names = sorted;
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    std::ranges::shuffle(names, random);
    std::ranges::sort(names, comes_before_naturally);
    // Names that differ only in leading zeros stand together, the ones with more zeros first.
    std::vector<std::string> expected = sorted;
    std::swap(expected[3], expected[4]);
    ASSERT_EQ(names, expected);
  }
}

TEST(NaturalOrder, is_a_total_order) {
  std::mt19937 random(2);
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) {
    std::string name;
    for (std::uint32_t k = random() % 6; k > 0; --k) name += "01a9."[random() % 5];
    names.push_back(name);
  }
  for (const std::string& a : names)
    for (const std::string& b : names) {
      EXPECT_EQ(comes_before_naturally(a, b) || comes_before_naturally(b, a), a != b) << a << " " << b;
      EXPECT_FALSE(comes_before_naturally(a, b) && comes_before_naturally(b, a));
      for (const std::string& c : names)
        ASSERT_TRUE(!comes_before_naturally(a, b) || !comes_before_naturally(b, c) || comes_before_naturally(a, c))
            << a << " " << b << " " << c;
    }
}

}  // namespace
}  // namespace penstock
