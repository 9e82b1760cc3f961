#include "cache/disk_tier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "disk_tier_use.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DiskTier, entries_are_found_as_they_were_added_and_by_the_next_run) {
  const TemporaryFolder folder;
  TierState before;
  {
    Tier tier(folder / "a/b");  // made where it is not there
    ASSERT_TRUE(tier.is_open()) << tier.error().describe();
    for (std::uint64_t i = 0; i < 500; ++i) EXPECT_TRUE(tier.add(i));
    EXPECT_FALSE(tier.add(5)) << "it is there";
    EXPECT_TRUE(tier->has(key_of(5)));
    EXPECT_FALSE(tier->has(key_of(500)));
    EXPECT_EQ(tier.count(1000), 500);
    before = tier->state();
    EXPECT_EQ(before.name, "disk");
    EXPECT_EQ(before.capacity_bytes, kMiB);
    EXPECT_EQ(before.entries, 500u);
    EXPECT_TRUE(before.is_shared);
    EXPECT_EQ(tier->free_bytes(), kMiB - before.used_bytes);
  }
  Tier again(folder / "a/b", kMiB, 20);
  EXPECT_EQ(again.count(1000), 500);
  EXPECT_EQ(again->state().used_bytes, before.used_bytes);
  EXPECT_EQ(again->state().damaged, 0u);
  EXPECT_TRUE(again.add(500)) << "the index is as large as it was made";
  EXPECT_THAT(again.warnings(), IsEmpty());
}

TEST(DiskTier, is_full_at_its_capacity_and_says_so_to_each_who_adds) {
  const TemporaryFolder folder;
  Tier tier(folder.path(), 64 << 10, 100);
  std::uint64_t added = 0;
  while (tier.add(added)) ++added;
  EXPECT_EQ(tier.add(key_of(added), entry_of(added)), CacheTier::Added::kFull);
  EXPECT_EQ(tier.add(key_of(0), entry_of(0)), CacheTier::Added::kTaken);
  EXPECT_LE(fs::file_size(data_of(folder)), 64u << 10);
  EXPECT_EQ(tier.count(200), static_cast<int>(added));
  EXPECT_THAT(tier.warnings(), IsEmpty());
}

TEST(DiskTier, notes_which_entries_were_checked_for_one_process_alone) {
  const TemporaryFolder folder;
  Tier maker(folder.path()), other(folder.path());
  EXPECT_TRUE(maker.add(1));
  std::vector<std::byte> memory(1000);
  const auto allocate = [&](std::size_t bytes) -> Result<MutableBytes> {
    return MutableBytes(memory).first(bytes);
  };
  const auto mark = [&](Tier& tier) { return tier->find(key_of(1), allocate)->mark; };
  EXPECT_EQ(mark(maker).moment(), 0u);
  mark(other).set(7);
  EXPECT_EQ(mark(other).moment(), 7u);
  EXPECT_EQ(other->marked_at(key_of(1)), 7u);
  EXPECT_EQ(mark(maker).moment(), 0u);
  EXPECT_EQ(other->marked_at(key_of(2)), std::nullopt);
  maker->withdraw(key_of(1));
  EXPECT_TRUE(maker.add(1));
  EXPECT_EQ(mark(other).moment(), 0u) << "it is another entry now";
}

TEST(DiskTier, what_is_withdrawn_is_gone_for_all_and_may_be_added_again) {
  const TemporaryFolder folder;
  Tier one(folder.path()), two(folder.path());
  EXPECT_TRUE(one.add(1));
  const std::uint64_t used = one->state().used_bytes;
  two->withdraw(key_of(1));
  EXPECT_EQ(one.look(1), Tier::kMiss);
  EXPECT_TRUE(two.add(1));
  EXPECT_EQ(one.look(1), Tier::kSame);
  EXPECT_EQ(one->state().used_bytes, used);
  EXPECT_EQ(one->state().damaged, 0u);
}

TEST(DiskTier, an_entry_that_cannot_be_made_leaves_its_place_to_the_next_try) {
  const TemporaryFolder folder;
  Tier tier(folder.path());
  const auto allocate = [](std::size_t) -> Result<MutableBytes> { return fail(ErrorCode::kNoMemory, "none"); };
  const auto no = [](MutableBytes) -> Status { return fail(ErrorCode::kCorrupt, "bad sample"); };
  std::vector<std::byte> memory(1000);
  EXPECT_EQ(tier->add(key_of(1), 500, no, allocate).value(), CacheTier::Added::kFull);
  const auto failed =
      tier->add(key_of(1), 500, no, [&](std::size_t bytes) { return MutableBytes(memory).first(bytes); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "bad sample");
  EXPECT_FALSE(tier->has(key_of(1)));
  EXPECT_TRUE(tier.add(1));
  EXPECT_FALSE(tier->find(key_of(1), allocate)) << "no memory to read it into is a miss";
  EXPECT_EQ(tier.look(1), Tier::kSame);
}

TEST(DiskTier, another_version_is_left_alone) {
  const TemporaryFolder folder;
  folder.write("penstock-cache-0/index", std::vector<std::byte>(100));
  Tier tier(folder.path());
  EXPECT_TRUE(tier.add(1));
  EXPECT_EQ(fs::file_size(folder / "penstock-cache-0/index"), 100u);
}

TEST(DiskTier, a_larger_capacity_keeps_what_is_there) {
  const TemporaryFolder folder;
  std::uint64_t fit = 0;
  {
    Tier tier(folder.path(), 64 << 10, 1000);
    while (tier.add(fit)) ++fit;
  }
  Tier tier(folder.path(), 128 << 10);
  EXPECT_EQ(tier->state().capacity_bytes, 128u << 10);
  EXPECT_EQ(tier.count(fit), static_cast<int>(fit));
  EXPECT_TRUE(tier.add(fit));
  EXPECT_EQ(tier.count(fit + 1), static_cast<int>(fit + 1));
  EXPECT_THAT(tier.warnings(), IsEmpty());
}

TEST(DiskTier, a_smaller_capacity_keeps_what_fits_and_is_made_anew_where_it_does_not) {
  const TemporaryFolder folder;
  {
    Tier tier(folder.path(), 8 * kMiB);
    for (std::uint64_t i = 0; i < 500; ++i) ASSERT_TRUE(tier.add(i));
  }
  {
    Tier tier(folder.path(), kMiB);
    EXPECT_EQ(tier.count(500), 500);
    EXPECT_EQ(tier->state().capacity_bytes, kMiB);
    EXPECT_THAT(tier.warnings(), IsEmpty());
  }
  Tier tier(folder.path(), 64 << 10);
  EXPECT_THAT(tier.warnings(), ElementsAre(HasSubstr("made anew")));
  EXPECT_EQ(tier->state().entries, 0u);
  EXPECT_EQ(tier->state().capacity_bytes, 64u << 10);
  EXPECT_LT(fs::file_size(index_of(folder)), 40'000u) << "as a new one's";
  EXPECT_TRUE(tier.add(1));
  EXPECT_EQ(tier.look(1), Tier::kSame);
}

TEST(DiskTier, a_folder_that_cannot_be_made_is_an_error_that_names_it) {
  const TemporaryFolder folder;
  folder.write("file", std::vector<std::byte>(10));
  for (const char* name : {"file", "file/below"}) {
    Tier tier(folder / name);
    EXPECT_FALSE(tier.is_open());
    EXPECT_THAT(tier.error().describe(), HasSubstr(folder / "file"));
  }
  folder.write("used/penstock-cache-1", std::vector<std::byte>(10));
  EXPECT_FALSE(Tier(folder / "used").is_open());
}

TEST(DiskTier, a_folder_that_may_not_be_written_is_an_error) {
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms{0555});
  const pid_t child = in_child([&] {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) return 1;  // root may write everywhere
    const Tier tier(folder.path());
    return !tier.is_open() && tier.error().code == ErrorCode::kNoAccess ? 0 : 2;
  });
  EXPECT_EQ(exit_code(child), 0);
  fs::permissions(folder.path(), fs::perms{0755});
}

TEST(DiskTier, goes_on_when_its_folder_is_removed) {
  const TemporaryFolder folder;
  Tier tier(folder / "cache");
  EXPECT_TRUE(tier.add(1));
  fs::remove_all(folder / "cache");
  tier->note("nowhere to write it");
  EXPECT_EQ(tier.look(1), Tier::kSame);
  EXPECT_TRUE(tier.add(2));
  EXPECT_EQ(tier.look(2), Tier::kSame);
  Tier fresh(folder / "cache");
  EXPECT_EQ(fresh.look(1), Tier::kMiss);
  EXPECT_TRUE(fresh.add(1));
}

TEST(DiskTier, a_full_disk_is_said_once_and_what_is_there_is_read_on) {
  const TemporaryFolder folder;
  const pid_t child = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{80 * kMiB, 80 * kMiB};
    setrlimit(RLIMIT_FSIZE, &limit);
    Tier tier(folder.path(), 256 * kMiB);
    int added = 0;
    for (std::uint64_t i = 0; i < 100; ++i)
      added += tier.add(key_of(i), entry_of(key_of(i), kMiB)) == CacheTier::Added::kYes ? 1 : 0;
    if (added != 79) return 1;  // five steps of 16 MiB, with the heads of the entries
    if (tier.warnings().size() != 1 || tier->free_bytes() != 0) return 2;
    if (tier.warnings()[0].find("the disk is full") == std::string::npos) return 3;
    if (tier.warnings()[0].find(folder.path()) == std::string::npos) return 4;
    for (std::uint64_t i = 0; i < 79; ++i)
      if (tier.look(key_of(i), entry_of(key_of(i), kMiB)) != Tier::kSame) return 5;
    return 0;
  });
  EXPECT_EQ(exit_code(child), 0);
  EXPECT_EQ(fs::file_size(data_of(folder)), 80 * kMiB) << "nothing is held that is not used";
}

}  // namespace
}  // namespace penstock
