#include "pipeline/chunk_shelf.h"

#include <gtest/gtest.h>

#include <cstring>

namespace penstock {
namespace {

using Kind = ChunkClaim::Kind;
constexpr ChunkId kA{0, 1}, kB{0, 2}, kC{0, 3};

class ChunkShelfTest : public testing::Test {
 protected:
  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>(1000);
  ChunkShelf shelf{ledger, 200};  // two chunks of 100 bytes

  Kind claim(std::uint64_t position, ChunkId chunk, bool is_direct = false) {
    const auto got = shelf.claim(position, chunk, 100, is_direct);
    if (!got) return Kind::kBusy;
    if (got->kind == Kind::kDecode) {
      std::memset(got->bytes.data(), static_cast<int>(chunk.number), got->bytes.size());
      shelf.publish(chunk);
    }
    if (got->kind == Kind::kReady) {
      EXPECT_EQ(got->bytes[0], std::byte(chunk.number));
    }
    if (got->kind == Kind::kDecode || got->kind == Kind::kReady) shelf.release(chunk);
    return got->kind;
  }
};

TEST_F(ChunkShelfTest, a_chunk_is_decoded_once_and_found_again) {
  shelf.plan(0, std::vector{kA});
  shelf.plan(1, std::vector{kA});
  EXPECT_EQ(claim(0, kA), Kind::kDecode);
  EXPECT_EQ(claim(1, kA), Kind::kReady);
  EXPECT_EQ(ledger->used(), 100u);
}

TEST_F(ChunkShelfTest, what_only_one_sample_needs_is_decoded_in_place) {
  shelf.plan(0, std::vector{kA});
  EXPECT_EQ(claim(0, kA, true), Kind::kAlone);
  shelf.plan(1, std::vector{kA});
  EXPECT_EQ(claim(0, kA, true), Kind::kDecode) << "another wants it too";
}

TEST_F(ChunkShelfTest, the_chunk_that_is_wanted_last_goes_first) {
  shelf.plan(0, std::vector{kA, kB, kC});
  shelf.plan(5, std::vector{kA});
  shelf.plan(6, std::vector{kC});
  shelf.plan(9, std::vector{kB});
  EXPECT_EQ(claim(0, kA), Kind::kDecode);
  EXPECT_EQ(claim(0, kB), Kind::kDecode);
  shelf.finish(0, std::vector{kA, kB, kC});
  EXPECT_EQ(claim(0, kC), Kind::kDecode) << "in the place of B";
  EXPECT_EQ(claim(5, kA), Kind::kReady);
  EXPECT_EQ(claim(6, kC), Kind::kReady);
  EXPECT_EQ(claim(9, kB), Kind::kAlone) << "A and C are wanted sooner";
  shelf.finish(5, std::vector{kA});
  EXPECT_EQ(claim(9, kB), Kind::kDecode) << "A has no further use";
  EXPECT_LE(ledger->used(), 200u);
}

TEST_F(ChunkShelfTest, what_is_wanted_later_than_all_others_does_not_push_them_out) {
  shelf.plan(0, std::vector{kA, kB, kC});
  shelf.plan(1, std::vector{kA, kB});
  shelf.plan(9, std::vector{kC});
  EXPECT_EQ(claim(0, kA), Kind::kDecode);
  EXPECT_EQ(claim(0, kB), Kind::kDecode);
  shelf.finish(0, std::vector{kA, kB, kC});
  EXPECT_EQ(claim(0, kC), Kind::kAlone);
  EXPECT_EQ(claim(1, kA), Kind::kReady);
}

TEST_F(ChunkShelfTest, a_chunk_that_is_held_stays) {
  shelf.plan(0, std::vector{kA, kB});
  const auto a = shelf.claim(0, kA, 100, false);
  shelf.publish(kA);
  const auto b = shelf.claim(0, kB, 100, false);
  shelf.publish(kB);
  EXPECT_EQ(claim(7, kC), Kind::kAlone);
  shelf.release(kA);
  shelf.release(kB);
  shelf.finish(0, std::vector{kA, kB});
  EXPECT_EQ(claim(7, kC), Kind::kDecode);
}

TEST_F(ChunkShelfTest, a_failure_is_told_to_all_until_the_next_epoch) {
  ASSERT_EQ(shelf.claim(0, kA, 100, false)->kind, Kind::kDecode);
  EXPECT_EQ(shelf.claim(1, kA, 100, false)->kind, Kind::kBusy);
  shelf.fail(kA, Error{ErrorCode::kCorrupt, "bad", {}, false});
  shelf.release(kA);
  EXPECT_EQ(shelf.claim(1, kA, 100, false).error().message, "bad");
  shelf.start_walk();
  EXPECT_EQ(claim(1, kA), Kind::kDecode);
}

TEST_F(ChunkShelfTest, what_may_pass_is_tried_again) {
  ASSERT_EQ(shelf.claim(0, kA, 100, false)->kind, Kind::kDecode);
  shelf.fail(kA, Error{ErrorCode::kIo, "for now", {}, true});
  EXPECT_EQ(claim(1, kA), Kind::kDecode);
}

TEST_F(ChunkShelfTest, only_what_nothing_planned_before_needs_is_to_be_read) {
  EXPECT_EQ(shelf.plan(0, std::vector{kA, kB}), (std::vector{kA, kB}));
  EXPECT_EQ(shelf.plan(1, std::vector{kA, kC}), (std::vector{kC}));
  EXPECT_EQ(claim(0, kA), Kind::kDecode);
  shelf.finish(0, std::vector{kA, kB});
  shelf.finish(1, std::vector{kA, kC});
  EXPECT_EQ(shelf.plan(2, std::vector{kA, kB}), (std::vector{kB})) << "A is on the shelf";
}

TEST_F(ChunkShelfTest, a_chunk_larger_than_the_shelf_is_made_alone) {
  EXPECT_EQ(shelf.claim(0, kA, 201, false)->kind, Kind::kAlone);
}

}  // namespace
}  // namespace penstock
