#include "stage/stage_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using testing::ElementsAre;

StagedRecord a_record() {
  return {"cats/1.tar", "https://example.org/cats/1.tar", {100, 7}, {{0, 60, 0xABCD}, {60, 40, 0x1234}}};
}

std::vector<std::byte> joined(std::initializer_list<std::vector<std::byte>> parts) {
  std::vector<std::byte> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<std::string> names_in(ConstBytes bytes) {
  std::vector<std::string> names;
  parse_frames(bytes, [&](ConstBytes payload) {
    if (const auto record = parse_staged_record(payload)) names.push_back(record->name);
  });
  return names;
}

TEST(StageRecords, a_record_comes_back) {
  const auto bytes = encode(a_record());
  EXPECT_EQ(parse_frames(bytes, [](ConstBytes payload) {
              const auto record = parse_staged_record(payload);
              ASSERT_TRUE(record);
              EXPECT_EQ(record->name, a_record().name);
              EXPECT_EQ(record->key, a_record().key);
              EXPECT_EQ(record->version, a_record().version);
              EXPECT_EQ(record->ranges, a_record().ranges);
              EXPECT_FALSE(parse_journal_head(payload));
              EXPECT_FALSE(parse_staged_range(payload, 100));
            }),
            bytes.size());
}

TEST(StageRecords, a_journal_comes_back) {
  const auto bytes = joined({encode(JournalHead{"/data/a.tar", {100, -5}}), encode(StagedRange{8, 16, 99})});
  int heads = 0, ranges = 0;
  parse_frames(bytes, [&](ConstBytes payload) {
    if (const auto head = parse_journal_head(payload)) {
      ++heads;
      EXPECT_EQ(head->key, "/data/a.tar");
      EXPECT_EQ(head->version, (ObjectVersion{100, -5}));
    }
    if (const auto range = parse_staged_range(payload, 100)) {
      ++ranges;
      EXPECT_EQ(*range, (StagedRange{8, 16, 99}));
    }
  });
  EXPECT_EQ(heads, 1);
  EXPECT_EQ(ranges, 1);
}

TEST(StageRecords, ranges_beyond_the_object_are_none) {
  parse_frames(encode(StagedRange{8, 16, 99}),
               [](ConstBytes payload) { EXPECT_FALSE(parse_staged_range(payload, 23)); });
  parse_frames(encode(StagedRange{~std::uint64_t{0}, 2, 99}),
               [](ConstBytes payload) { EXPECT_FALSE(parse_staged_range(payload, ~std::uint64_t{0})); });
  StagedRecord record = a_record();
  record.ranges.push_back({99, 2, 0});
  parse_frames(encode(record), [](ConstBytes payload) { EXPECT_FALSE(parse_staged_record(payload)); });
}

TEST(StageRecords, half_a_frame_hides_nothing_that_follows) {
  StagedRecord other = a_record();
  other.name = "b";
  for (std::size_t cut = 1; cut < encode(a_record()).size(); ++cut) {
    auto half = encode(a_record());
    half.resize(cut);
    EXPECT_THAT(names_in(joined({half, encode(other)})), ElementsAre("b")) << cut;
    EXPECT_EQ(parse_frames(joined({encode(other), half}), [](ConstBytes) {}), encode(other).size());
  }
}

TEST(StageRecords, a_flipped_bit_is_noticed) {
  StagedRecord other = a_record();
  other.name = "b";
  const auto good = encode(a_record());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    auto bad = good;
    bad[bit / 8] ^= std::byte(1U << bit % 8);
    EXPECT_THAT(names_in(joined({bad, encode(other)})), ElementsAre("b")) << bit;
  }
}

TEST(StageRecords, names_stay_below_the_folder) {
  for (const char* name : {"a", "a/b.tar", ".hidden", "a/.penstock-stage", "...", "a..b"}) EXPECT_TRUE(is_name_below(name)) << name;
  for (const char* name : {"", "/a", "a/", "a//b", "..", "a/../b", "./a", "a/.", ".penstock-stage", ".penstock-stage/x"})
    EXPECT_FALSE(is_name_below(name)) << name;
  EXPECT_FALSE(is_name_below(std::string_view("a\0b", 3)));
  StagedRecord record = a_record();
  record.name = "../x";
  parse_frames(encode(record), [](ConstBytes payload) { EXPECT_FALSE(parse_staged_record(payload)); });
}

}  // namespace
}  // namespace penstock
