#include "base/memory/opening_memory.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr std::uint64_t kBudget = 1 << 20;

TEST(OpeningMemory, reservations_are_given_back) {
  OpeningMemory memory(kBudget);
  const OpeningMemory::Scope scope(&memory);
  {
    OpeningReservation reservation;
    ASSERT_TRUE(reservation.add(kBudget / 2, "a record", {}));
    ASSERT_TRUE(reservation.add(kBudget / 2, "a record", {}));
    OpeningReservation other;
    EXPECT_FALSE(other.add(1, "a record", {}));
    other = std::move(reservation);
    EXPECT_EQ(memory.working().used(), kBudget);
  }
  EXPECT_EQ(memory.working().used(), 0u);
}

TEST(OpeningMemory, an_error_says_what_does_not_fit_and_where) {
  OpeningMemory memory(kBudget);
  const OpeningMemory::Scope scope(&memory);
  OpeningReservation reservation;
  const Status refused = reservation.add(kBudget + 1, "looking at a record", {"x.tar.gz", 512, 7, -1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNoMemory);
  EXPECT_EQ(refused.error().where.uri, "x.tar.gz");
  EXPECT_EQ(refused.error().where.offset, 512);
  EXPECT_NE(refused.error().message.find("looking at a record takes 1048577 bytes"), std::string::npos);
  EXPECT_NE(refused.error().message.find("memory="), std::string::npos);
}

TEST(OpeningMemory, what_an_opening_opens_shares_its_budget) {
  const OpeningMemory::Begin outer(kBudget);
  OpeningMemory* const first = OpeningMemory::current();
  {
    const OpeningMemory::Begin inner(7 * kBudget);
    EXPECT_EQ(OpeningMemory::current(), first);
    EXPECT_EQ(OpeningMemory::at_most(2 * kBudget), kBudget);
    EXPECT_EQ(OpeningMemory::at_most(5), 5u);
  }
  EXPECT_EQ(OpeningMemory::current(), first);
}

TEST(OpeningMemory, without_one_nothing_is_limited) {
  EXPECT_EQ(OpeningMemory::current(), nullptr);
  OpeningReservation reservation;
  EXPECT_TRUE(reservation.add(UINT64_MAX, "anything", {}));
  EXPECT_EQ(OpeningMemory::at_most(UINT64_MAX), UINT64_MAX);
}

}  // namespace
}  // namespace penstock
