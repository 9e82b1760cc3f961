// Files of the disk tier that are damaged, cut, or older than others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "disk_tier_use.h"

namespace penstock {
namespace {

using ::testing::IsEmpty;

TEST(DiskTier, a_flipped_bit_anywhere_in_an_entry_is_noticed_and_the_entry_made_again) {
  const TemporaryFolder folder;
  Tier tier(folder.path(), 64 << 10, 20);
  for (std::uint64_t i = 0; i < 12; ++i) ASSERT_TRUE(tier.add(i));
  const std::uint64_t used = tier->state().used_bytes - fs::file_size(index_of(folder));
  std::uint64_t damaged = 0;
  for (std::uint64_t at = 0; at < used; ++at) {
    flip(data_of(folder), at, static_cast<char>(1 << at % 8));
    const int found = tier.count(12);
    ASSERT_TRUE(found == 11 || found == 12) << "byte " << at;  // 12: between two entries
    damaged += found == 11 ? 1 : 0;
    ASSERT_EQ(tier->state().damaged, damaged);
    for (std::uint64_t i = 0; i < 12; ++i) tier.add(i);
    ASSERT_EQ(tier.count(12), 12) << "byte " << at;
  }
  EXPECT_GT(damaged, used * 9 / 10);
  EXPECT_EQ(tier->state().used_bytes, used + fs::file_size(index_of(folder)));
}

TEST(DiskTier, a_flipped_bit_anywhere_in_the_index_gives_no_wrong_bytes) {
  const TemporaryFolder folder;
  {
    Tier tier(folder.path(), 64 << 10, 20);
    for (std::uint64_t i = 0; i < 12; ++i) ASSERT_TRUE(tier.add(i));
  }
  const auto index = read_file(index_of(folder)), data = read_file(data_of(folder));
  for (std::uint64_t at = 0; at < index.size(); ++at) {
    write_file(index_of(folder), index);
    if (at % 64 == 0) write_file(data_of(folder), data);
    flip(index_of(folder), at, static_cast<char>(1 << mix64(at) % 8));
    Tier tier(folder.path(), 64 << 10, 20);
    ASSERT_TRUE(tier.is_open()) << "byte " << at << ": " << tier.error().describe();
    ASSERT_GE(tier.count(14), 0) << "byte " << at;
    for (std::uint64_t i = 0; i < 14; ++i) tier.add(i);
    ASSERT_GE(tier.count(14), 0) << "byte " << at;
    ASSERT_LE(fs::file_size(data_of(folder)), 64u << 10) << "byte " << at;
  }
}

TEST(DiskTier, an_entry_that_is_of_another_key_or_longer_than_its_place_is_damaged) {
  const TemporaryFolder folder;
  Tier tier(folder.path());
  EXPECT_EQ(tier.add(key_of(1), entry_of(2)), CacheTier::Added::kYes);
  EXPECT_EQ(tier.look(key_of(1), entry_of(2)), Tier::kMiss);
  auto cut = entry_of(3);
  cut.pop_back();
  EXPECT_EQ(tier.add(key_of(3), cut), CacheTier::Added::kYes);
  EXPECT_EQ(tier.look(key_of(3), cut), Tier::kMiss);
  EXPECT_EQ(tier->state().damaged, 2u);
}

TEST(DiskTier, a_damaged_table_neither_asks_for_memory_nor_makes_the_file_larger) {
  const TemporaryFolder folder;
  Tier tier(folder.path(), 64 << 10, 20);
  ASSERT_TRUE(tier.add(1));
  const std::uint64_t slot = offset_of(read_file(index_of(folder)), key_of(1));
  flip(index_of(folder), slot + 16 + 8 + 1, 0x70);  // an entry of 28 KiB
  std::vector<std::byte> memory(1000);
  const auto allocate = [&](std::size_t bytes) -> Result<MutableBytes> {
    EXPECT_LE(bytes, memory.size());
    return MutableBytes(memory).first(bytes);
  };
  EXPECT_FALSE(tier->find(key_of(1), allocate));
  EXPECT_EQ(tier->state().damaged, 1u);
  flip(index_of(folder), slot + 16 + 4, 1);  // 4 GiB behind its place
  EXPECT_FALSE(tier.add(1));
  EXPECT_EQ(fs::file_size(data_of(folder)) + fs::file_size(index_of(folder)), 64u << 10);
  EXPECT_THAT(tier.warnings(), IsEmpty());
}

TEST(DiskTier, files_full_of_noise_are_made_anew) {
  for (const std::size_t bytes : {0, 5, 4096, 100'000}) {
    const TemporaryFolder folder;
    std::vector<std::byte> noise(bytes);
    for (std::size_t i = 0; i < bytes; ++i) noise[i] = static_cast<std::byte>(mix64(i));
    folder.write("penstock-cache-1/index", noise);
    folder.write("penstock-cache-1/data", noise);
    Tier tier(folder.path());
    ASSERT_TRUE(tier.is_open()) << tier.error().describe();
    EXPECT_EQ(tier->state().entries, 0u);
    EXPECT_EQ(tier->state().capacity_bytes, kMiB);
    EXPECT_TRUE(tier.add(1));
    EXPECT_EQ(tier.look(1), Tier::kSame);
  }
}

TEST(DiskTier, entries_behind_the_end_of_the_data_are_misses) {
  const TemporaryFolder folder;
  {
    Tier tier(folder.path());
    for (std::uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(tier.add(i));
    const std::uint64_t used = tier->state().used_bytes - fs::file_size(index_of(folder));
    fs::resize_file(data_of(folder), used / 2);
    const int found = tier.count(50);
    EXPECT_GT(found, 40) << "while it is in use";
    EXPECT_LT(tier.count(100), 60);
  }
  fs::resize_file(data_of(folder), 1000);
  Tier again(folder.path());
  EXPECT_GT(again.count(100), 0);
  EXPECT_LT(again.count(100), 10);
  EXPECT_GT(again->state().damaged, 30u);
  for (std::uint64_t i = 0; i < 100; ++i) again.add(i);
  EXPECT_EQ(again.count(100), 100);
  EXPECT_THAT(again.warnings(), IsEmpty());
}

TEST(DiskTier, without_its_data_the_cache_is_made_anew) {
  const TemporaryFolder folder;
  for (int round = 0; round < 2; ++round) {
    Tier tier(folder.path());
    EXPECT_EQ(tier->state().entries, 0u);
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_TRUE(tier.add(i));
    fs::remove(data_of(folder));
  }
}

TEST(DiskTier, no_room_is_given_twice_after_a_crash_of_the_machine) {
  const TemporaryFolder folder;
  {
    Tier tier(folder.path());
    for (std::uint64_t i = 0; i < 50; ++i) ASSERT_TRUE(tier.add(i));
  }
  // The first page of the index is older than the others, from before the last boot.
  auto index = read_file(index_of(folder));
  const std::uint64_t machine = machine_offset(index);
  index[machine] ^= 1;
  std::memset(index.data() + machine + 16, 0, 24);  // used, backed, entries
  write_file(index_of(folder), index);
  Tier tier(folder.path());
  EXPECT_EQ(tier->state().entries, 50u);
  for (std::uint64_t i = 50; i < 100; ++i) ASSERT_TRUE(tier.add(i));
  EXPECT_EQ(tier.count(100), 100);
}

}  // namespace
}  // namespace penstock
