#include "source/manifest/decimal_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace penstock {
namespace {

TEST(DecimalNumber, what_lies_below_the_smallest_double_is_zero_and_above_the_largest_nothing) {
  const auto kind_of = [](std::string_view text) { return parse_decimal(text).kind; };
  for (const std::string_view text : {"1e-400", "-1e-400", "0.1e-99999999999999999999", "2e-324"}) {
    EXPECT_EQ(kind_of(text), DecimalNumber::Kind::kReal) << text;
    EXPECT_EQ(parse_decimal(text).real, 0.0) << text;
  }
  EXPECT_TRUE(std::signbit(parse_decimal("-1e-400").real));
  EXPECT_EQ(parse_decimal("3e-324").real, 5e-324);
  EXPECT_EQ(parse_decimal("0e99999999999999999999").real, 0.0);
  EXPECT_EQ(parse_decimal("0." + std::string(500, '0') + "1e501").real, 1.0);
  EXPECT_EQ(parse_decimal("1" + std::string(500, '0') + "e-500").real, 1.0);
  EXPECT_EQ(parse_decimal("0." + std::string(500, '0') + "1e2").real, 0.0);
  for (const std::string_view text : {"1e400", "-1e309", "0.001e99999999999999999999", "1.8e308"})
    EXPECT_EQ(kind_of(text), DecimalNumber::Kind::kNone) << text;
  EXPECT_EQ(kind_of("0." + std::string(500, '0') + "1e900"), DecimalNumber::Kind::kNone);
}

}  // namespace
}  // namespace penstock
