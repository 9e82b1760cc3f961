#include "base/memory/area.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Area, is_limited_by_itself_and_by_the_ledger) {
  auto ledger = std::make_shared<Ledger>(100);
  Area area(ledger, 60);
  EXPECT_TRUE(area.try_reserve(50));
  EXPECT_FALSE(area.try_reserve(20)) << "the area is full, the ledger is not";
  EXPECT_TRUE(ledger->try_reserve(45));
  EXPECT_FALSE(area.try_reserve(10)) << "the ledger is full, the area is not";
  ledger->release(45);
  EXPECT_TRUE(area.try_reserve(10)) << "what was refused was not kept";
  area.release(60);
  EXPECT_EQ(ledger->used(), 0u);
}

}  // namespace
}  // namespace penstock
