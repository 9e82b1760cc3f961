// The tiers in memory, and how they stand one after another.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cache/lru_tier.h"
#include "cache/ram_tier.h"
#include "cache/tiered_cache.h"
#include "support/temporary_folder.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

EntryKey key(std::uint64_t number) { return {7, number}; }

CacheTier::Allocate no_memory() {
  return [](std::size_t) -> Result<MutableBytes> { return fail(ErrorCode::kNoMemory, "not asked for"); };
}

CacheTier::Allocate some_memory() {
  return [memory = std::make_shared<std::vector<std::byte>>()](std::size_t bytes) -> Result<MutableBytes> {
    memory->resize(bytes);
    return MutableBytes(*memory);
  };
}

CacheTier::Fill filled_with(std::uint64_t number) {
  return [number](MutableBytes bytes) -> Status {
    std::memset(bytes.data(), static_cast<int>(number), bytes.size());
    return {};
  };
}

bool add(CacheTier& tier, std::uint64_t number, std::uint64_t bytes) {
  const auto added = tier.add(key(number), bytes, filled_with(number), some_memory());
  return added && *added == CacheTier::Added::kYes;
}

bool holds(CacheTier& tier, std::uint64_t number, std::uint64_t bytes) {
  const auto found = tier.find(key(number), no_memory());
  if (!found || found->bytes.size() != bytes) return false;
  return std::ranges::all_of(found->bytes, [&](std::byte b) { return b == static_cast<std::byte>(number); });
}

struct Warnings {
  std::vector<std::string> messages;
  Warn warn() {
    return [this](const std::string& message) { messages.push_back(message); };
  }
};

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(RamTier, keeps_what_came_first_and_never_more_than_its_capacity) {
  const TemporaryFolder folder;
  auto tier = *open_ram_tier({"a", 4 * kMiB, 100, 1, 1, nullptr, folder.path()});
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(add(*tier, i, kMiB), i < 3) << "the table takes some too";
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(holds(*tier, i, kMiB), i < 3);
  EXPECT_TRUE(add(*tier, 10, 1000)) << "small ones still fit";
  const TierState state = tier->state();
  EXPECT_EQ(state.entries, 4u);
  EXPECT_LE(state.used_bytes, state.capacity_bytes);
  EXPECT_EQ(state.capacity_bytes, 4 * kMiB);
  EXPECT_TRUE(state.is_shared);
  EXPECT_EQ(files_in(folder.path()), 1u);
  tier.reset();
  EXPECT_EQ(files_in(folder.path()), 0u);
}

TEST(RamTier, is_one_for_all_who_give_the_same_name) {
  const TemporaryFolder folder;
  const RamTierOptions options{"a", 4 * kMiB, 100, 1, 2, nullptr, folder.path()};
  auto first = *open_ram_tier(options);
  ASSERT_TRUE(add(*first, 1, 1000));
  auto second = *open_ram_tier(options);
  EXPECT_TRUE(holds(*second, 1, 1000));
  const auto found = second->find(key(1), no_memory());
  first->find(key(1), no_memory())->mark.set(5);
  EXPECT_EQ(found->mark.moment(), 0u) << "what the one has compared, the other has not";
  EXPECT_EQ(first->agree(77, 2), 2u);
  EXPECT_EQ(second->agree(77, 1), 2u) << "the first one's word";
  const auto taken = second->add(key(1), 1000, filled_with(1), some_memory());
  EXPECT_EQ(*taken, CacheTier::Added::kTaken);
  first.reset();
  EXPECT_TRUE(holds(*second, 1, 1000));
  EXPECT_TRUE(add(*second, 2, 1000));
  auto other = *open_ram_tier({"b", 4 * kMiB, 100, 1, 1, nullptr, folder.path()});
  EXPECT_FALSE(holds(*other, 1, 1000));
}

TEST(RamTier, of_several_files_is_one_tier) {
  const TemporaryFolder folder;
  const RamTierOptions options{"a", 4 * kMiB, 400, 4, 2, nullptr, folder.path()};
  auto first = *open_ram_tier(options);
  auto second = *open_ram_tier(options);
  EXPECT_EQ(files_in(folder.path()), 4u);
  constexpr std::uint64_t kEntry = 100 << 10;
  std::uint64_t kept = 0;
  for (std::uint64_t i = 0; i < 100; ++i) kept += add(i % 2 == 0 ? *first : *second, i, kEntry) ? 1 : 0;
  EXPECT_EQ(kept, 40u) << "10 in each file: what its own has no room for goes to another";
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(holds(*first, i, kEntry), holds(*second, i, kEntry)) << i;
    EXPECT_EQ(first->has(key(i)), holds(*first, i, kEntry)) << i;
    EXPECT_EQ(*second->add(key(i), kEntry, filled_with(i), some_memory()) == CacheTier::Added::kTaken,
              first->has(key(i)));
  }
  const TierState state = second->state();
  EXPECT_EQ(state.entries, kept);
  EXPECT_EQ(state.capacity_bytes, 4 * kMiB);
  EXPECT_GT(state.used_bytes, kept * kEntry);
  EXPECT_LE(state.used_bytes, state.capacity_bytes);
  EXPECT_LT(first->free_bytes(), 4 * kEntry);
  EXPECT_EQ(first->agree(77, 2), second->agree(77, 1));
  std::uint64_t gone = 0;
  while (!first->has(key(gone))) ++gone;
  first->withdraw(key(gone));
  EXPECT_FALSE(second->has(key(gone)));
  first.reset();
  EXPECT_EQ(files_in(folder.path()), 4u);
  second.reset();
  EXPECT_EQ(files_in(folder.path()), 0u);
}

TEST(RamTier, is_private_as_a_whole_where_one_of_its_files_cannot_be_had) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(fmt::format("{}/penstock-1-{}-a-2", folder.path(), geteuid()));
  Warnings warnings;
  auto tier = *open_ram_tier({"a", 4 * kMiB, 400, 4, 1, warnings.warn(), folder.path()});
  EXPECT_FALSE(tier->state().is_shared);
  EXPECT_EQ(warnings.messages.size(), 1u);
  EXPECT_EQ(files_in(folder.path()), 1u) << "the files before it are gone again";
  EXPECT_TRUE(add(*tier, 1, 3 * kMiB)) << "and what is left is one";
}

TEST(RamTier, has_more_files_the_larger_it_is_and_the_smaller_its_entries_are) {
  EXPECT_EQ(useful_stripes(300 * kMiB, 1000), 1u);
  EXPECT_EQ(useful_stripes(1024 * kMiB, 1000), 4u);
  EXPECT_EQ(useful_stripes(1024 * kMiB, 8 * kMiB), 2u);
  EXPECT_EQ(useful_stripes(1024 * kMiB, 100 * kMiB), 1u);
  EXPECT_EQ(useful_stripes(std::uint64_t{1} << 50, 0), 16u);
  EXPECT_EQ(useful_stripes(std::uint64_t{1} << 50, UINT64_MAX), 1u);
}

TEST(RamTier, leaves_no_files_of_the_dead_behind) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    auto tier = open_ram_tier({"dead", 4 * kMiB, 100, 1, 1, nullptr, folder.path()});
    _exit(tier ? 0 : 1);  // as if killed: nothing is cleaned up
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_EQ(files_in(folder.path()), 1u);
  const auto tier = *open_ram_tier({"alive", 4 * kMiB, 100, 1, 1, nullptr, folder.path()});
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(RamTier, of_a_fork_leaves_the_file_to_the_parent) {
  const TemporaryFolder folder;
  auto tier = *open_ram_tier({"a", 4 * kMiB, 100, 1, 1, nullptr, folder.path()});
  const pid_t child = fork();
  if (child == 0) {
    tier.reset();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(files_in(folder.path()), 1u);
  EXPECT_TRUE(add(*tier, 1, 1000));
}

TEST(RamTier, is_private_and_says_so_where_shared_memory_is_too_small) {
  const TemporaryFolder folder;
  Warnings warnings;
  const std::uint64_t too_much = std::uint64_t{1} << 42;
  auto tier = open_ram_tier({"a", too_much, 1000, 1, 1 << 15, warnings.warn(), folder.path()});
  ASSERT_TRUE(tier) << tier.error().describe();
  ASSERT_EQ(warnings.messages.size(), 1u);
  EXPECT_NE(warnings.messages[0].find("shared memory"), std::string::npos) << warnings.messages[0];
  EXPECT_NE(warnings.messages[0].find(folder.path()), std::string::npos) << warnings.messages[0];
  EXPECT_EQ((*tier)->state().capacity_bytes, too_much >> 15) << "its part of what was to be shared";
  EXPECT_FALSE((*tier)->state().is_shared);
  EXPECT_TRUE(add(**tier, 1, kMiB));
  EXPECT_TRUE(holds(**tier, 1, kMiB));
  EXPECT_EQ(files_in(folder.path()), 0u);
}

TEST(RamTier, is_private_and_says_why_where_the_folder_of_shared_memory_is_missing) {
  const TemporaryFolder folder;
  Warnings warnings;
  const auto tier = *open_ram_tier({"a", 4 * kMiB, 100, 1, 2, warnings.warn(), folder / "missing"});
  EXPECT_FALSE(tier->state().is_shared);
  ASSERT_EQ(warnings.messages.size(), 1u);
  EXPECT_NE(warnings.messages[0].find(folder / "missing: No such file"), std::string::npos) << warnings.messages[0];
}

TEST(RamTier, refuses_sizes_that_make_no_sense) {
  EXPECT_FALSE(open_ram_tier({"a", 1000, 100, 1, 1, nullptr}));
}

TEST(RamTier, keeps_the_room_of_what_could_not_be_made) {
  const TemporaryFolder folder;
  auto tier = *open_ram_tier({"a", 4 * kMiB, 100, 1, 1, nullptr, folder.path()});
  const auto fails = [](MutableBytes) -> Status { return fail(ErrorCode::kCorrupt, "bad picture"); };
  const auto added = tier->add(key(1), kMiB, fails, some_memory());
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().message, "bad picture");
  const std::uint64_t used = tier->state().used_bytes;
  EXPECT_TRUE(add(*tier, 2, kMiB)) << "somebody else's now";
  EXPECT_EQ(tier->state().used_bytes, used);
  EXPECT_TRUE(add(*tier, 1, kMiB));
  tier->withdraw(key(1));
  EXPECT_FALSE(tier->has(key(1)));
}

TEST(RamTier, has_no_room_where_there_is_none_to_make_the_entry_in) {
  const TemporaryFolder folder;
  auto tier = *open_ram_tier({"a", 4 * kMiB, 100, 1, 1, nullptr, folder.path()});
  EXPECT_EQ(*tier->add(key(1), 1000, filled_with(1), no_memory()), CacheTier::Added::kFull);
  EXPECT_FALSE(tier->has(key(1)));
  EXPECT_TRUE(add(*tier, 1, 1000));
}

TEST(LruTier, throws_out_what_was_unused_longest) {
  const auto tier = make_lru_tier(3000);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(add(*tier, i, 1000));
  const auto held = tier->find(key(0), no_memory());
  EXPECT_TRUE(add(*tier, 3, 1000));
  EXPECT_TRUE(holds(*tier, 0, 1000));
  EXPECT_FALSE(tier->has(key(1)));
  EXPECT_TRUE(add(*tier, 4, 3000));
  EXPECT_EQ(tier->state().entries, 1u);
  EXPECT_TRUE(std::ranges::all_of(held->bytes, [](std::byte b) { return b == std::byte{0}; }))
      << "still held";
  EXPECT_FALSE(add(*tier, 5, 3001));
  tier->withdraw(key(4));
  EXPECT_EQ(tier->state().used_bytes, 0u);
}

// Sets the variable as long as it lives.
class SharedMemoryDir {
 public:
  explicit SharedMemoryDir(const std::string& folder) { setenv("PENSTOCK_SHARED_MEMORY_DIR", folder.c_str(), 1); }
  SharedMemoryDir(const SharedMemoryDir&) = delete;
  ~SharedMemoryDir() { unsetenv("PENSTOCK_SHARED_MEMORY_DIR"); }
};

TEST(TieredCache, shares_memory_in_the_folder_that_the_environment_names) {
  EXPECT_EQ(shared_memory_folder(), "/dev/shm");
  const TemporaryFolder folder, other;
  auto one = std::static_pointer_cast<TieredCache>(*Cache::open({.ram_bytes = 8 * kMiB}));
  auto two = std::static_pointer_cast<TieredCache>(*Cache::open({.ram_bytes = 8 * kMiB}));
  auto apart = std::static_pointer_cast<TieredCache>(*Cache::open({.ram_bytes = 8 * kMiB}));
  {
    const SharedMemoryDir named(folder.path());
    ASSERT_TRUE(one->prepare({1, 10, 10, 100, 1}) && two->prepare({1, 10, 10, 100, 1}));
  }
  {
    const SharedMemoryDir named(other.path());
    ASSERT_TRUE(apart->prepare({1, 10, 10, 100, 1}));
  }
  EXPECT_EQ(files_in(folder.path()), 1u);
  EXPECT_EQ(files_in(other.path()), 1u);
  EXPECT_TRUE(*one->add(key(1), 100, filled_with(1), some_memory(), {}));
  EXPECT_TRUE(two->has(key(1)));
  EXPECT_FALSE(apart->has(key(1))) << "the same data, but another folder";
}

TEST(TieredCache, wants_a_size_and_makes_its_tiers_for_the_first_who_uses_it) {
  const TemporaryFolder folder;
  const SharedMemoryDir named(folder.path());
  EXPECT_FALSE(Cache::open({}));
  EXPECT_FALSE(Cache::open({.disk_folder = "x"}));
  EXPECT_FALSE(Cache::open({.disk_bytes = 5}));
  EXPECT_FALSE(
      Cache::open({.ram_bytes = kMiB, .disk_folder = "x", .disk_bytes = 5, .policy = CachePolicy::kLru}));
  const auto cache = std::static_pointer_cast<TieredCache>(*Cache::open({.ram_bytes = 8 * kMiB}));
  EXPECT_TRUE(cache->tiers().empty());
  EXPECT_EQ(cache->take_charge(4), 2 * kMiB);
  EXPECT_EQ(cache->take_charge(4), 0u) << "counted once a process";
  ASSERT_TRUE(cache->prepare({1, 10, 10, 100, 1}));
  ASSERT_TRUE(cache->prepare({2, 20, 20, 100, 1}));
  ASSERT_EQ(cache->tiers().size(), 1u);
  EXPECT_TRUE(*cache->add(key(1), 100, filled_with(1), some_memory(), {}));
  EXPECT_FALSE(*cache->add(key(1), 100, filled_with(1), some_memory(), {}));
  EXPECT_TRUE(cache->has(key(1)));
  EXPECT_EQ(cache->find(key(1), no_memory())->tier, 0u);
  cache->withdraw(key(1));
  EXPECT_FALSE(cache->has(key(1)));
}

}  // namespace
}  // namespace penstock
