#include "cache/tier_copy.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "cache/disk_tier.h"
#include "cache/ram_tier.h"
#include "support/temporary_folder.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMiB = 1 << 20, kEntries = 50, kBytes = 4000;

EntryKey key(std::uint64_t number) { return {7, number}; }

CacheTier::Allocate some_memory() {
  return [memory = std::make_shared<std::vector<std::byte>>()](std::size_t bytes) -> Result<MutableBytes> {
    memory->resize(bytes);
    return MutableBytes(*memory);
  };
}

bool add(CacheTier& tier, std::uint64_t number) {
  const auto fill = [&](MutableBytes bytes) -> Status {
    EntryHead head;
    head.key = key(number);
    head.bytes = bytes.size() - sizeof head;
    std::memset(bytes.data(), static_cast<int>(number), bytes.size());
    std::memcpy(bytes.data(), &head, sizeof head);
    return {};
  };
  const auto added = tier.add(key(number), kBytes, fill, some_memory());
  return added && *added == CacheTier::Added::kYes;
}

class Wanted final : public WantedEntries {
 public:
  explicit Wanted(State state) : state_(state) {}
  void set(State state) { state_ = state; }
  int looks() const { return looks_; }
  State look(const Has& has, const std::stop_token&) override {
    ++looks_;
    if (state_ != State::kNotYet) return state_;
    for (std::uint64_t number = 0; number < kEntries; ++number)
      if (!has(key(number))) return State::kNotYet;
    return State::kAllIn;
  }

 private:
  std::atomic<State> state_;
  std::atomic<int> looks_{0};
};

using State = WantedEntries::State;

template <typename Condition>
bool comes_true(const Condition& condition) {
  for (int i = 0; i < 6000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return condition();
}

struct Tiers {
  explicit Tiers(std::uint64_t disk_bytes = 8 * kMiB) {
    memory = *open_ram_tier({"copy" + std::to_string(getpid()), 4 * kMiB, kEntries, 1, 1, {}, folder.path()});
    disk = *open_disk_tier({folder.path() + "/disk", disk_bytes, kEntries, {}});
  }
  CopyRoute route() const { return {{memory.get(), disk.get()}, {memory.get()}, 1}; }
  TemporaryFolder folder;
  CacheTierPtr memory, disk;
};

TEST(TierCopy, begins_when_the_last_entry_is_in) {
  Tiers tiers;
  TierCopy copy(tiers.route());
  const auto wanted = std::make_shared<Wanted>(State::kNotYet);
  copy.add_wanted(wanted);
  for (std::uint64_t i = 0; i + 1 < kEntries; ++i) ASSERT_TRUE(add(*tiers.memory, i));
  EXPECT_TRUE(comes_true([&] { return wanted->looks() > 2; }));
  EXPECT_EQ(tiers.disk->state().entries, 0u);
  ASSERT_TRUE(add(*tiers.memory, kEntries - 1));
  EXPECT_TRUE(comes_true([&] { return tiers.disk->state().entries == kEntries; }));
  EXPECT_EQ(copy.copied(), kEntries);
  for (std::uint64_t i = 0; i < kEntries; ++i) {
    const CacheTier::Allocate allocate = some_memory();  // holds the bytes that are found
    const auto found = tiers.disk->find(key(i), allocate);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->bytes.size(), kBytes);
    EXPECT_EQ(found->bytes.back(), static_cast<std::byte>(i));
  }
}

TEST(TierCopy, leaves_what_is_on_disk) {
  Tiers tiers;
  for (std::uint64_t i = 0; i < kEntries; ++i) ASSERT_TRUE(add(i % 2 ? *tiers.disk : *tiers.memory, i));
  TierCopy copy(tiers.route());
  copy.add_wanted(std::make_shared<Wanted>(State::kNotYet));
  EXPECT_TRUE(comes_true([&] { return tiers.disk->state().entries == kEntries; }));
  EXPECT_EQ(copy.copied(), kEntries / 2);
}

TEST(TierCopy, waits_for_all_loaders_but_not_for_closed_ones) {
  Tiers tiers;
  for (std::uint64_t i = 0; i < kEntries; ++i) ASSERT_TRUE(add(*tiers.memory, i));
  TierCopy copy(tiers.route());
  const auto other = std::make_shared<Wanted>(State::kGivenUp);
  copy.add_wanted(other);
  EXPECT_TRUE(comes_true([&] { return other->looks() > 0; }));
  EXPECT_EQ(copy.copied(), 0u);  // nobody who is left wants it
  copy.add_wanted(std::make_shared<Wanted>(State::kNotYet));
  EXPECT_TRUE(comes_true([&] { return copy.copied() == kEntries; }));
  EXPECT_EQ(other.use_count(), 1);
}

TEST(TierCopy, keeps_to_the_room_on_disk) {
  Tiers tiers(64 << 10);
  for (std::uint64_t i = 0; i < kEntries; ++i) ASSERT_TRUE(add(*tiers.memory, i));
  {
    TierCopy copy(tiers.route());
    const auto wanted = std::make_shared<Wanted>(State::kAllIn);
    copy.add_wanted(wanted);
    EXPECT_TRUE(comes_true([&] { return copy.copied() > 0; }));
    const int before = wanted->looks();
    copy.look_again();
    EXPECT_TRUE(comes_true([&] { return wanted->looks() > before; }));
  }
  const TierState state = tiers.disk->state();
  EXPECT_LT(state.entries, 16u);
  EXPECT_LE(state.used_bytes, state.capacity_bytes);
}

TEST(TierCopy, two_of_them_copy_each_entry_once) {
  Tiers tiers;
  for (std::uint64_t i = 0; i < kEntries; ++i) ASSERT_TRUE(add(*tiers.memory, i));
  TierCopy one(tiers.route()), other(tiers.route());
  one.add_wanted(std::make_shared<Wanted>(State::kAllIn));
  other.add_wanted(std::make_shared<Wanted>(State::kAllIn));
  EXPECT_TRUE(comes_true([&] { return one.copied() + other.copied() == kEntries; }));
  EXPECT_EQ(tiers.disk->state().entries, kEntries);
}

TEST(TierCopy, ends_at_once_in_a_forked_child) {
  Tiers tiers;
  auto copy = std::make_unique<TierCopy>(tiers.route());
  copy->add_wanted(std::make_shared<Wanted>(State::kNotYet));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    copy.reset();
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace penstock
