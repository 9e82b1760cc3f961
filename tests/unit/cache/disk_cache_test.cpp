#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>

#include "cache/disk_tier.h"
#include "penstock/cache.h"
#include "support/temporary_folder.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;

CacheTierPtr open_tier(const std::string& folder) {
  auto tier = open_disk_tier({folder, kMiB, 100, {}});
  if (!tier) throw std::runtime_error(tier.error().describe());
  return std::move(*tier);
}

void add_entry(CacheTier& tier, const EntryKey& key) {
  std::vector<std::byte> memory(1000);
  const auto added = tier.add(
      key, 1000, [](MutableBytes) -> Status { return {}; },
      [&](std::size_t) -> Result<MutableBytes> { return MutableBytes(memory); });
  ASSERT_EQ(added.value(), CacheTier::Added::kYes);
}

TEST(DiskCache, is_described_without_disturbing_who_uses_it) {
  const TemporaryFolder folder;
  auto tier = open_tier(folder.path());
  add_entry(*tier, {1, 1});
  tier->note("pictures, decoded");
  const auto used = describe_disk_cache(folder.path() + "/");
  ASSERT_TRUE(used) << used.error().describe();
  EXPECT_TRUE(used->is_readable);
  EXPECT_TRUE(used->is_in_use);
  EXPECT_EQ(used->capacity_bytes, kMiB);
  EXPECT_EQ(used->used_bytes, 1024 + std::filesystem::file_size(folder / "penstock-cache-1/index"));
  EXPECT_EQ(used->entries, 1u);
  EXPECT_GE(used->bytes_on_disk, 1024u);
  EXPECT_GT(used->modified_ns, 1'600'000'000'000'000'000);
  EXPECT_THAT(used->contents, ElementsAre("pictures, decoded"));
  add_entry(*tier, {1, 2});
  tier.reset();
  const auto free = describe_disk_cache(folder.path());
  EXPECT_FALSE(free->is_in_use);
  EXPECT_EQ(free->entries, 2u);
}

TEST(DiskCache, each_thing_is_noted_once) {
  const TemporaryFolder folder;
  for (int run = 0; run < 2; ++run) {
    const auto tier = open_tier(folder.path());
    for (const char* words : {"one", "two \"quoted\"\nlines", "one", "\xff is no text", "on"})
      tier->note(words);
  }
  EXPECT_THAT(describe_disk_cache(folder.path())->contents,
              ElementsAre("one", "two \"quoted\"\nlines", "\xEF\xBF\xBD is no text", "on"));
}

TEST(DiskCache, a_line_that_was_not_written_to_its_end_is_left_out) {
  const TemporaryFolder folder;
  open_tier(folder.path())->note("one");
  std::ofstream(folder / "penstock-cache-1/contents", std::ios::app) << "{\"cached\": \"tw";
  open_tier(folder.path())->note("three");
  EXPECT_THAT(describe_disk_cache(folder.path())->contents, ElementsAre("one", "three"));
}

TEST(DiskCache, is_removed_with_its_files_and_nothing_else) {
  const TemporaryFolder folder;
  folder.write("mine", std::vector<std::byte>(10));
  folder.write("penstock-cache-old/index", std::vector<std::byte>(10));
  {
    const auto tier = open_tier(folder.path());
    tier->note("pictures");
    const auto refused = remove_disk_cache(folder.path());
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().describe(), HasSubstr("in use"));
    add_entry(*tier, {1, 1});
  }
  folder.write("penstock-cache-7/index", std::vector<std::byte>(10));
  EXPECT_TRUE(remove_disk_cache(folder.path()));
  EXPECT_FALSE(fs::exists(folder / "penstock-cache-1"));
  EXPECT_FALSE(fs::exists(folder / "penstock-cache-7"));
  EXPECT_TRUE(fs::exists(folder / "mine"));
  EXPECT_TRUE(fs::exists(folder / "penstock-cache-old/index"));
  EXPECT_EQ(remove_disk_cache(folder.path()).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(describe_disk_cache(folder.path()).error().code, ErrorCode::kNotFound);
}

TEST(DiskCache, files_of_others_inside_it_are_left_and_named) {
  const TemporaryFolder folder;
  open_tier(folder.path());
  folder.write("penstock-cache-1/mine", std::vector<std::byte>(10));
  const auto removed = remove_disk_cache(folder.path());
  ASSERT_FALSE(removed);
  EXPECT_THAT(removed.error().describe(), HasSubstr("penstock-cache-1"));
  EXPECT_TRUE(fs::exists(folder / "penstock-cache-1/mine"));
  EXPECT_FALSE(fs::exists(folder / "penstock-cache-1/data"));
}

TEST(DiskCache, other_versions_and_damaged_ones_are_listed_as_not_readable) {
  const TemporaryFolder folder;
  folder.write("penstock-cache-9/data", std::vector<std::byte>(100'000));
  const auto other = describe_disk_cache(folder.path());
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->is_readable);
  EXPECT_GE(other->bytes_on_disk, 100'000u);
  EXPECT_THAT(other->contents, ElementsAre("of another version: penstock-cache-9"));
  folder.write("penstock-cache-1/index", std::vector<std::byte>(5000));
  EXPECT_FALSE(describe_disk_cache(folder.path())->is_readable);
  open_tier(folder.path());
  EXPECT_TRUE(describe_disk_cache(folder.path())->is_readable);
}

TEST(DiskCache, where_there_is_none_it_is_not_found) {
  const TemporaryFolder folder;
  folder.write("file", std::vector<std::byte>(10));
  for (const std::string& path : {folder.path(), folder / "nothing", folder / "file"}) {
    EXPECT_EQ(describe_disk_cache(path).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(remove_disk_cache(path).error().code, ErrorCode::kNotFound);
  }
}

TEST(DiskCache, is_looked_at_removed_and_opened_at_the_same_time) {
  const TemporaryFolder folder;
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int round = 0; round < 100; ++round) {
        if (i == 0 && round % 3 == 0) (void)remove_disk_cache(folder.path());
        if (i == 0) {
          (void)describe_disk_cache(folder.path());
          continue;
        }
        const auto tier = open_disk_tier({folder.path(), kMiB << i, 1000, {}});
        EXPECT_TRUE(tier) << tier.error().describe();
        if (!tier) break;
        add_entry(**tier, {static_cast<std::uint64_t>(getpid()), static_cast<std::uint64_t>(round)});
      }
      _exit(testing::Test::HasFailure() ? 2 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

}  // namespace
}  // namespace penstock
