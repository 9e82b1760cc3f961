#include "plan/coalesce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using testing::ElementsAre;

ObjectRead read_at(const char* key, std::uint64_t offset, std::uint64_t length) {
  return {key, {offset, length, false}, length, std::nullopt};
}

TEST(Coalesce, neighbours_of_one_object_become_one_read) {
  const std::vector<ObjectRead> wanted = {read_at("a", 100, 50), read_at("b", 0, 10), read_at("a", 0, 100),
                                          read_at("a", 160, 40)};
  const auto joined = coalesce(wanted, {.max_gap_bytes = 10, .max_bytes = 1000});
  ASSERT_EQ(joined.size(), 2u);
  EXPECT_EQ(joined[0].read.range, (ByteRange{0, 200, false}));
  EXPECT_EQ(joined[0].read.max_bytes, 200u);
  EXPECT_THAT(joined[0].parts, ElementsAre(2u, 0u, 3u));
  EXPECT_EQ(joined[1].read.key, "b");
}

TEST(Coalesce, gaps_lengths_and_versions_keep_reads_apart) {
  EXPECT_EQ(coalesce(std::vector{read_at("a", 0, 10), read_at("a", 21, 10)}, {10, 1000}).size(), 2u);
  EXPECT_EQ(coalesce(std::vector{read_at("a", 0, 10), read_at("a", 10, 10)}, {10, 15}).size(), 2u);
  auto other = read_at("a", 10, 10);
  other.version = ObjectVersion{100, 1};
  EXPECT_EQ(coalesce(std::vector{read_at("a", 0, 10), other}, {10, 1000}).size(), 2u);
}

TEST(Coalesce, whole_objects_and_ends_stand_alone) {
  const ObjectRead whole{"a", {}, 1000, std::nullopt}, end{"a", {0, 16, true}, 16, std::nullopt};
  EXPECT_EQ(coalesce(std::vector{whole, end, read_at("a", 0, 10)}, {100, 10'000}).size(), 3u);
}

TEST(Coalesce, overlapping_reads_are_covered) {
  const auto joined = coalesce(std::vector{read_at("a", 0, 100), read_at("a", 20, 10)}, {0, 1000});
  ASSERT_EQ(joined.size(), 1u);
  EXPECT_EQ(joined[0].read.range, (ByteRange{0, 100, false}));
}

}  // namespace
}  // namespace penstock
