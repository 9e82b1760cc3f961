#include "plan/chunk_uses.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr ChunkId kA{0, 1}, kB{0, 2};

TEST(ChunkUses, the_next_use_is_the_first_that_is_not_over) {
  ChunkUses uses;
  uses.add(3, std::vector{kA, kB});
  uses.add(5, std::vector{kA});
  uses.add(9, std::vector{kA});
  EXPECT_EQ(uses.size(), 4u);
  EXPECT_EQ(uses.next(kA), 3u);
  EXPECT_TRUE(uses.take(5, kA)) << "out of order";
  EXPECT_FALSE(uses.take(5, kA)) << "a second time";
  EXPECT_TRUE(uses.take(3, kB));
  EXPECT_EQ(uses.next(kB), ChunkUses::kNever);
  uses.finish(3, std::vector{kA, kB});
  EXPECT_EQ(uses.next(kA), 9u);
  uses.finish(9, std::vector{kA});
  EXPECT_EQ(uses.next(kA), ChunkUses::kNever);
  EXPECT_EQ(uses.size(), 0u);
}

TEST(ChunkUses, many_uses_of_one_chunk_are_over_in_any_order) {
  ChunkUses uses;
  for (std::uint64_t due = 0; due < 1000; ++due) uses.add(due, std::vector{kA});
  for (std::uint64_t due = 0; due < 1000; due += 2) {
    EXPECT_TRUE(uses.take(due + 1, kA));
    EXPECT_EQ(uses.next(kA), due);
    EXPECT_TRUE(uses.take(due, kA));
  }
  EXPECT_EQ(uses.size(), 0u);
}

TEST(ChunkUses, samples_in_the_making_are_told_from_those_to_come) {
  ChunkUses uses;
  for (const std::uint64_t due : {1, 2, 7}) uses.add({due, 1}, std::vector{kA});
  uses.add({2, 2}, std::vector{kA});
  EXPECT_EQ(uses.next_not_open(kA), 1u) << "none is in the making yet";
  uses.set_open(1, 4);
  EXPECT_EQ(uses.open(kA), (std::vector<SampleUse>{{1, 1}, {2, 1}}));
  EXPECT_EQ(uses.next_not_open(kA), 2u) << "of the other walk";
  uses.forget_walk(2);
  EXPECT_EQ(uses.next_not_open(kA), 7u);
  uses.set_open(1, 8);
  EXPECT_EQ(uses.next_not_open(kA), ChunkUses::kNever);
}

TEST(ChunkUses, what_must_be_kept_is_counted_from_the_first_decode_to_the_last_use) {
  ChunkUses uses;
  uses.add(1, std::vector{kA});
  uses.add(2, std::vector{kA, kB});
  uses.add(3, std::vector{kB});
  EXPECT_EQ(uses.max_bytes_in_use(), 0u);
  uses.take(1, kA);
  uses.note_decoded(kA, 100);
  uses.note_decoded(kA, 100);  // again, which takes no more
  EXPECT_EQ(uses.max_bytes_in_use(), 100u);
  uses.take(2, kB);
  uses.note_decoded(kB, 10);
  EXPECT_EQ(uses.max_bytes_in_use(), 110u);
  uses.take(2, kA);
  uses.note_decoded({0, 3}, 50);  // which nobody needs any more
  EXPECT_EQ(uses.max_bytes_in_use(), 110u);
  uses.note_decoded({0, 3}, 101);
  EXPECT_EQ(uses.max_bytes_in_use(), 111u);
}

TEST(ChunkUses, finishing_what_was_never_planned_changes_nothing) {
  ChunkUses uses;
  uses.add(1, std::vector{kA});
  uses.finish(2, std::vector{kA, kB});
  EXPECT_EQ(uses.next(kA), 1u);
  EXPECT_EQ(uses.size(), 1u);
}

TEST(ChunkUses, walks_are_told_apart_and_can_be_forgotten) {
  ChunkUses uses;
  uses.add({3, 1}, std::vector{kA});
  uses.add({7, 1}, std::vector{kA, kB});
  uses.add({5, 2}, std::vector{kA});  // another walk, behind the first
  uses.add({3, 2}, std::vector{kB});
  EXPECT_FALSE(uses.take({3, 1}, kB)) << "the same time, but of the other walk";
  EXPECT_TRUE(uses.take({3, 1}, kA));
  EXPECT_EQ(uses.next(kA), 5u);
  EXPECT_EQ(uses.next(kB), 3u);
  uses.forget_walk(2);
  EXPECT_EQ(uses.next(kA), 7u);
  EXPECT_EQ(uses.next(kB), 7u);
  EXPECT_EQ(uses.size(), 2u);
}

}  // namespace
}  // namespace penstock
