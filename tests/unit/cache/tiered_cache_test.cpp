// The tiers in memory, and how any number of tiers stand one after another.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cache/disk_tier.h"
#include "cache/lru_tier.h"
#include "cache/ram_tier.h"
#include "cache/tiered_cache.h"
#include "support/counting_allocator.h"
#include "support/device_tier.h"
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

TEST(LruTier, keeps_its_entries_in_blocks_of_its_allocator) {
  const auto allocator = std::make_shared<CountingAllocator>();
  const auto tier = make_lru_tier(3000, allocator);
  EXPECT_TRUE(add(*tier, 1, 1000));
  EXPECT_TRUE(holds(*tier, 1, 1000));
  EXPECT_EQ(allocator->blocks, 1);
  allocator->refuses = true;
  EXPECT_EQ(*tier->add(key(2), 1000, filled_with(2), some_memory()), CacheTier::Added::kFull);
  EXPECT_FALSE(tier->has(key(2)));
  tier->withdraw(key(1));
  EXPECT_EQ(allocator->blocks, 0);
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

// ---- three tiers, one of them on a device

constexpr TieredCache::Keeping kReadAnywhere{0, false, EntryReader::kAnywhere};

// What every entry of a loader is: a head and bytes.
CacheTier::Fill whole_entry(std::uint64_t number) {
  return [number](MutableBytes bytes) -> Status {
    EntryHead head;
    head.key = key(number);
    head.bytes = bytes.size() - sizeof head;
    std::memset(bytes.data(), static_cast<int>(number), bytes.size());
    std::memcpy(bytes.data(), &head, sizeof head);
    return {};
  };
}

struct ThreeTiers {
  static constexpr std::uint64_t kEntry = 1000;

  // The device has space for two entries. The disk is the first tier, or the last.
  explicit ThreeTiers(bool disk_first = false) {
    std::vector<CacheTierPtr> tiers;
    tiers.push_back(std::make_unique<DeviceTier>(2 * kEntry + 500));
    tiers.push_back(*open_ram_tier({"three", kMiB, 2000, 1, 1, nullptr, folder.path()}));
    ram = tiers.back().get();
    tiers.insert(disk_first ? tiers.begin() : tiers.end(),
                 *open_disk_tier({folder.path() + "/disk", kMiB, 100, nullptr}));
    cache = std::make_unique<TieredCache>(CacheOptions{}, std::move(tiers));
  }
  bool add(std::uint64_t number, const TieredCache::Keeping& keeping) const {
    const auto added = cache->add(key(number), kEntry, whole_entry(number), some_memory(), keeping);
    return added && *added;
  }
  std::optional<std::size_t> tier_of(std::uint64_t number, EntryReader reader) const {
    const auto hit = cache->find(key(number), memory, reader);
    if (!hit) return std::nullopt;
    return hit->tier;
  }
  // Until the memory takes no more entries of any key.
  void fill_ram() const {
    for (std::uint64_t i = 100; i < 100 + kMiB / kEntry; ++i) (void)ram->add(key(i), kEntry, whole_entry(i), memory, 0);
    ASSERT_LT(ram->free_bytes(), kEntry);
  }

  TemporaryFolder folder;
  CacheTier* ram = nullptr;
  std::unique_ptr<TieredCache> cache;
  const CacheTier::Allocate memory = some_memory();
};

TEST(TieredCache, an_entry_goes_to_the_first_of_three_tiers_that_has_space_and_that_its_reader_can_use) {
  const ThreeTiers tiers;
  for (const std::uint64_t number : {1u, 2u, 3u}) EXPECT_TRUE(tiers.add(number, kReadAnywhere));
  EXPECT_EQ(tiers.tier_of(1, EntryReader::kAnywhere), 0u);
  EXPECT_EQ(tiers.tier_of(2, EntryReader::kAnywhere), 0u);
  EXPECT_EQ(tiers.tier_of(3, EntryReader::kAnywhere), 1u) << "the device is full";
  tiers.cache->withdraw(key(2));
  EXPECT_TRUE(tiers.add(4, {})) << "space on the device is of no use to code on the host";
  EXPECT_EQ(tiers.tier_of(4, EntryReader::kHost), 1u);
  EXPECT_FALSE(tiers.add(4, {})) << "it is there";
  tiers.fill_ram();
  EXPECT_TRUE(tiers.add(5, {}));
  EXPECT_EQ(tiers.tier_of(5, EntryReader::kHost), 2u);
  EXPECT_EQ(tiers.cache->free_bytes() + 1500, tiers.cache->free_bytes(EntryReader::kAnywhere));
}

TEST(TieredCache, an_entry_on_a_device_says_so_and_is_hidden_from_readers_on_the_host) {
  const ThreeTiers tiers;
  ASSERT_TRUE(tiers.add(1, {7, false, EntryReader::kAnywhere}));
  const auto hit = tiers.cache->find(key(1), no_memory(), EntryReader::kAnywhere);
  ASSERT_TRUE(hit);
  EXPECT_FALSE(hit->found.is_on_host());
  EXPECT_EQ(hit->found.device, DeviceTier::kDevice);
  EXPECT_EQ(hit->found.mark.moment(), 7u);
  ASSERT_EQ(hit->found.bytes.size(), ThreeTiers::kEntry);
  EXPECT_EQ(DeviceTier::on_device(hit->found).substr(sizeof(EntryHead)),
            std::string(ThreeTiers::kEntry - sizeof(EntryHead), '\1'));
  EXPECT_FALSE(tiers.cache->find(key(1), no_memory()));
  EXPECT_FALSE(tiers.cache->has(key(1)));
  EXPECT_FALSE(tiers.cache->marked_at(key(1)));
  EXPECT_TRUE(tiers.cache->has(key(1), EntryReader::kAnywhere));
  EXPECT_EQ(tiers.cache->marked_at(key(1), EntryReader::kAnywhere), 7u);
  ASSERT_TRUE(tiers.add(1, {})) << "so the host may have one of its own";
  const auto on_host = tiers.cache->find(key(1), tiers.memory);
  ASSERT_TRUE(on_host);
  EXPECT_TRUE(on_host->found.is_on_host());
  EXPECT_EQ(on_host->found.bytes.back(), std::byte{1});
  tiers.cache->withdraw(key(1));
  EXPECT_FALSE(tiers.cache->has(key(1), EntryReader::kAnywhere)) << "in none of the tiers";
}

TEST(TieredCache, what_must_not_outlive_the_process_passes_by_the_disk_wherever_that_stands) {
  const ThreeTiers tiers(true);
  EXPECT_TRUE(tiers.add(1, {}));
  EXPECT_EQ(tiers.tier_of(1, EntryReader::kHost), 0u);
  EXPECT_TRUE(tiers.add(2, {0, true, EntryReader::kHost}));
  EXPECT_EQ(tiers.tier_of(2, EntryReader::kHost), 2u);
  EXPECT_TRUE(tiers.add(3, {0, true, EntryReader::kAnywhere}));
  EXPECT_EQ(tiers.tier_of(3, EntryReader::kAnywhere), 1u);
  tiers.fill_ram();
  EXPECT_FALSE(tiers.add(4, {0, true, EntryReader::kHost}));
}

class AllAreIn final : public WantedEntries {
 public:
  State look(const Has& has, const std::stop_token&) override {
    sees_device = has(key(1));
    return State::kAllIn;
  }
  std::atomic<bool> sees_device = false;
};

TEST(TieredCache, entries_in_memory_are_copied_to_the_tier_that_lasts_and_those_on_the_device_are_not) {
  const ThreeTiers tiers(true);
  ASSERT_EQ(*tiers.ram->add(key(2), ThreeTiers::kEntry, whole_entry(2), tiers.memory, 0), CacheTier::Added::kYes);
  ASSERT_TRUE(tiers.add(1, {0, true, EntryReader::kAnywhere}));
  const auto wanted = std::make_shared<AllAreIn>();
  tiers.cache->add_wanted(wanted);
  for (int i = 0; i < 6000 && tiers.cache->tiers()[0].copied == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const std::vector<TierState> states = tiers.cache->tiers();
  ASSERT_EQ(states.size(), 3u);
  EXPECT_EQ(states[0].name, "disk");
  EXPECT_EQ(states[0].copied, 1u);
  EXPECT_EQ(states[0].entries, 1u) << "not what is on the device";
  EXPECT_EQ(states[1].name, "gpu");
  EXPECT_EQ(states[1].entries, 1u);
  EXPECT_EQ(states[2].name, "ram");
  EXPECT_TRUE(wanted->sees_device) << "an entry there need not be made";
  EXPECT_EQ(tiers.tier_of(2, EntryReader::kHost), 0u);
}

TEST(TieredCache, a_number_that_is_agreed_on_comes_from_the_tier_that_lasts) {
  const TemporaryFolder folder;
  const auto cache = [&](const char* name) {
    std::vector<CacheTierPtr> tiers;
    tiers.push_back(*open_ram_tier({name, kMiB, 100, 1, 1, nullptr, folder.path()}));
    tiers.push_back(*open_disk_tier({folder.path() + "/disk", kMiB, 100, nullptr}));
    return std::make_unique<TieredCache>(CacheOptions{}, std::move(tiers));
  };
  EXPECT_EQ(cache("first")->agree(77, 2), 2u);
  EXPECT_EQ(cache("second")->agree(77, 1), 2u) << "of the run before";
}

TEST(TieredCache, with_one_kind_of_tier_alone_there_is_nothing_to_copy) {
  std::vector<CacheTierPtr> tiers;
  tiers.push_back(make_lru_tier(1000));
  tiers.push_back(make_lru_tier(1000));
  EXPECT_FALSE(choose_copy(tiers));
  tiers.clear();
  EXPECT_FALSE(choose_copy(tiers));
  const TemporaryFolder folder;
  tiers.push_back(*open_disk_tier({folder.path(), kMiB, 100, nullptr}));
  tiers.push_back(std::make_unique<DeviceTier>(1000));
  EXPECT_FALSE(choose_copy(tiers)) << "what is on a device cannot be read";
}

}  // namespace
}  // namespace penstock
