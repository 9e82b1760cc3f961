#include "plan/chunk_uses.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr ChunkId kA{0, 1}, kB{0, 2};

TEST(ChunkUses, the_next_use_is_the_first_that_is_not_finished) {
  ChunkUses uses;
  uses.add(3, std::vector{kA, kB});
  uses.add(5, std::vector{kA});
  uses.add(9, std::vector{kA});
  EXPECT_EQ(uses.size(), 4u);
  EXPECT_EQ(uses.next(kA), 3u);
  EXPECT_EQ(uses.next_beside(kA, 3), 5u);
  EXPECT_EQ(uses.next_beside(kB, 3), ChunkUses::kNever);
  uses.finish(5, std::vector{kA});  // out of order
  uses.finish(3, std::vector{kA, kB});
  EXPECT_EQ(uses.next(kA), 9u);
  EXPECT_EQ(uses.next(kB), ChunkUses::kNever);
  uses.finish(9, std::vector{kA});
  EXPECT_EQ(uses.next(kA), ChunkUses::kNever);
  EXPECT_EQ(uses.size(), 0u);
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
  EXPECT_EQ(uses.next_beside(kA, {3, 1}), 5u);
  EXPECT_EQ(uses.next_beside(kB, {3, 1}), 3u) << "the same time, but of the other walk";
  uses.forget_walk(2);
  EXPECT_EQ(uses.next_beside(kA, {3, 1}), 7u);
  EXPECT_EQ(uses.next(kB), 7u);
  EXPECT_EQ(uses.size(), 3u);
}

}  // namespace
}  // namespace penstock
