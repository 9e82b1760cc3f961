#include "batch/variable_memory.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using Answer = VariableMemory::Answer;

class VariableMemoryTest : public ::testing::Test {
 protected:
  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>(1000);
  std::shared_ptr<VariableMemory> room = std::make_shared<VariableMemory>(ledger, 1000);
  VariableShare next, behind, farther;

  void SetUp() override { room->promote(next); }
};

TEST_F(VariableMemoryTest, the_next_batch_has_half_whatever_the_others_hold) {
  EXPECT_EQ(room->take(behind, 300), Answer::kYes);
  EXPECT_EQ(room->take(farther, 200), Answer::kYes);
  EXPECT_FALSE(room->is_short());
  EXPECT_EQ(room->take(farther, 1), Answer::kLater);
  EXPECT_TRUE(room->is_short());
  EXPECT_EQ(room->take(next, 500), Answer::kYes);
  EXPECT_EQ(room->take(next, 1), Answer::kNever);
  EXPECT_EQ(ledger->used(), 1000u);
}

TEST_F(VariableMemoryTest, a_batch_that_never_fits_is_told_so_wherever_it_stands) {
  EXPECT_EQ(room->take(behind, 501), Answer::kNever);
  EXPECT_EQ(room->take(next, 501), Answer::kNever);
  EXPECT_EQ(ledger->used(), 0u);
}

TEST_F(VariableMemoryTest, promotion_makes_room_for_those_behind) {
  EXPECT_EQ(room->take(behind, 500), Answer::kYes);
  EXPECT_EQ(room->take(farther, 10), Answer::kLater);
  const auto lent = room->lend(next).token;
  room->promote(behind);
  EXPECT_FALSE(room->is_short());
  EXPECT_EQ(room->take(farther, 10), Answer::kYes);
}

TEST_F(VariableMemoryTest, what_the_user_keeps_holds_back_only_those_behind) {
  EXPECT_EQ(room->take(next, 400), Answer::kYes);
  auto lent = room->lend(next).token;
  EXPECT_EQ(ledger->used(), 0u);
  EXPECT_EQ(ledger->lent(), 400u);
  room->promote(behind);
  EXPECT_EQ(room->take(behind, 500), Answer::kYes);
  EXPECT_EQ(room->take(farther, 200), Answer::kLater);
  int returned = 0;
  room->on_return([&] { ++returned; });
  lent.reset();
  EXPECT_EQ(returned, 1);
  EXPECT_EQ(ledger->lent(), 0u);
  EXPECT_EQ(room->take(farther, 200), Answer::kYes);
}

TEST_F(VariableMemoryTest, what_is_given_back_can_be_taken_again) {
  EXPECT_EQ(room->take(behind, 500), Answer::kYes);
  room->give_back(behind, 200);
  EXPECT_EQ(room->take(farther, 200), Answer::kYes);
  EXPECT_EQ(ledger->used(), 500u);
}

TEST_F(VariableMemoryTest, lent_memory_outlives_the_room_s_owner) {
  EXPECT_EQ(room->take(next, 100), Answer::kYes);
  auto lent = room->lend(next).token;
  room.reset();
  lent.reset();
  EXPECT_EQ(ledger->lent(), 0u);
}

TEST_F(VariableMemoryTest, of_two_next_batches_one_may_have_to_wait_for_the_other) {
  VariableShare other;
  room->promote(other);
  EXPECT_EQ(room->take(next, 500), Answer::kYes);
  EXPECT_EQ(room->take(behind, 300), Answer::kYes);
  EXPECT_EQ(room->take(other, 201), Answer::kLater) << "never more than the area";
  EXPECT_TRUE(room->is_short_for_next());
  room->drop(next);
  EXPECT_FALSE(room->is_short_for_next());
  EXPECT_EQ(room->take(other, 500), Answer::kYes);
  EXPECT_EQ(ledger->used(), 800u);
}

}  // namespace
}  // namespace penstock
