#include "pack/prepared_memory.h"

#include <gtest/gtest.h>

#include <thread>

#include "pack/pack_buffer.h"

namespace penstock {
namespace {

using Answer = PreparedMemory::Answer;

TEST(PreparedMemory, the_queue_is_for_all_and_the_reserve_for_the_earliest) {
  PreparedMemory memory(100, 50);
  EXPECT_EQ(memory.take(3, 50, 50), Answer::kYes);
  EXPECT_EQ(memory.take(2, 50, 50), Answer::kYes);
  EXPECT_EQ(memory.take(1, 1, 1), Answer::kLater);
  EXPECT_EQ(memory.take(0, 50, 50), Answer::kYes);  // the earliest
  EXPECT_EQ(memory.take(0, 1, 51), Answer::kNever);
  memory.give_back(50);
  memory.set_earliest(1);
  EXPECT_EQ(memory.take(1, 50, 50), Answer::kYes);
  EXPECT_EQ(memory.peak(), 150u);
}

TEST(PreparedMemory, whether_a_sample_fits_does_not_depend_on_what_else_is_held) {
  PreparedMemory memory(1000, 50);
  EXPECT_EQ(memory.take(0, 51, 51), Answer::kNever);
  EXPECT_EQ(memory.take(7, 51, 51), Answer::kNever);
}

TEST(PreparedMemory, a_sample_that_was_refused_waits_until_it_is_the_earliest) {
  PreparedMemory memory(100, 50);
  ASSERT_EQ(memory.take(5, 50, 50), Answer::kYes);
  ASSERT_EQ(memory.take(6, 50, 50), Answer::kYes);
  std::jthread writer([&] { memory.set_earliest(4); });
  EXPECT_TRUE(memory.wait_for(4, 50));
  EXPECT_EQ(memory.take(4, 50, 50), Answer::kYes);
}

TEST(PreparedMemory, a_stop_ends_the_wait) {
  PreparedMemory memory(100, 50);
  ASSERT_EQ(memory.take(5, 50, 50), Answer::kYes);
  ASSERT_EQ(memory.take(6, 50, 50), Answer::kYes);
  std::jthread stopper([&] { memory.stop(); });
  EXPECT_FALSE(memory.wait_for(4, 50));
}

TEST(PackBuffer, memory_is_reserved_before_it_is_allocated_and_given_back) {
  PreparedMemory memory(1000, 1000);
  {
    PackBuffer buffer(memory, 3);
    ASSERT_TRUE(buffer.reserve(400));
    ASSERT_TRUE(buffer.append(400));
    EXPECT_FALSE(buffer.append(400));  // the old and the new memory do not fit
    EXPECT_EQ(buffer.refusal(), Answer::kNever);
    PackBuffer other(memory, 4);
    ASSERT_TRUE(other.reserve(600));
    PackBuffer third(memory, 5);
    EXPECT_FALSE(third.reserve(1));
    EXPECT_EQ(third.refusal(), Answer::kLater);
    const PackBuffer moved(std::move(other));
  }
  EXPECT_EQ(memory.take(9, 1000, 1000), Answer::kYes);
}

TEST(PackBuffer, bytes_stay_when_it_grows) {
  PreparedMemory memory(1 << 20, 1 << 20);
  PackBuffer buffer(memory, 0);
  for (int i = 0; i < 1000; ++i) {
    const auto byte = static_cast<std::byte>(i);
    ASSERT_TRUE(buffer.append(ConstBytes(&byte, 1)));
  }
  ASSERT_EQ(buffer.size(), 1000u);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(buffer.bytes()[i], static_cast<std::byte>(i));
}

}  // namespace
}  // namespace penstock
