// Threads, processes and machines that use one disk tier.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>

#include <chrono>
#include <thread>

#include "disk_tier_use.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

TEST(DiskTier, is_not_shared_with_another_machine) {
  const TemporaryFolder folder;
  { Tier(folder.path()).add(1); }
  flip(index_of(folder), machine_offset(read_file(index_of(folder))), 1);
  const int there = open(index_of(folder).c_str(), O_RDWR);
  ASSERT_EQ(flock(there, LOCK_SH), 0);
  Tier refused(folder.path());
  EXPECT_FALSE(refused.is_open());
  EXPECT_THAT(refused.error().describe(), HasSubstr("another machine"));
  close(there);
  Tier tier(folder.path());
  EXPECT_EQ(tier.look(1), Tier::kSame);
}

TEST(DiskTier, who_only_looks_at_the_lock_for_a_moment_does_no_harm) {
  const TemporaryFolder folder;
  { Tier(folder.path()).add(1); }
  flip(index_of(folder), machine_offset(read_file(index_of(folder))), 1);
  const int there = open(index_of(folder).c_str(), O_RDWR);
  ASSERT_EQ(flock(there, LOCK_SH), 0);
  std::jthread leaves([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    close(there);
  });
  Tier tier(folder.path());
  ASSERT_TRUE(tier.is_open()) << tier.error().describe();
  EXPECT_EQ(tier.look(1), Tier::kSame);
}

TEST(DiskTier, threads_and_processes_fill_it_together) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kNumbers = 2000;
  const auto work = [&] {
    Tier tier(folder.path(), 4 * kMiB, kNumbers);
    if (!tier.is_open()) return 1;
    std::atomic<bool> is_wrong = false;
    {
      std::vector<std::jthread> threads;
      for (std::uint64_t t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
          std::vector<std::byte> memory(1000);
          const auto allocate = [&](std::size_t bytes) -> Result<MutableBytes> {
            return MutableBytes(memory).first(bytes);
          };
          for (std::uint64_t i = 0; i < 2 * kNumbers; ++i) {
            const std::uint64_t number = mix64(i + t * 1000) % kNumbers;
            const auto entry = entry_of(number);
            if (const auto found = tier->find(key_of(number), allocate)) {
              if (!std::ranges::equal(found->bytes, entry)) is_wrong = true;
              if (i % 50 == 0) tier->withdraw(key_of(number));
              continue;
            }
            const auto fill = [&](MutableBytes to) -> Status {
              std::ranges::copy(entry, to.begin());
              return {};
            };
            if (!tier->add(key_of(number), entry.size(), fill, allocate)) is_wrong = true;
          }
        });
    }
    return is_wrong || tier->state().damaged > 0 || !tier.warnings().empty() ? 2 : 0;
  };
  const pid_t one = in_child(work), two = in_child(work);
  EXPECT_EQ(work(), 0);
  EXPECT_EQ(exit_code(one), 0);
  EXPECT_EQ(exit_code(two), 0);
  Tier tier(folder.path(), 4 * kMiB, kNumbers);
  EXPECT_GT(tier.count(kNumbers), 1500);
  for (std::uint64_t i = 0; i < kNumbers; ++i) tier.add(i);
  EXPECT_EQ(tier.count(kNumbers), static_cast<int>(kNumbers));
  EXPECT_EQ(tier->state().entries, kNumbers);
}

TEST(DiskTier, processes_that_are_killed_leave_a_valid_cache) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kNumbers = 3000;
  Draws draws(1, 0, 0);
  for (int round = 0; round < 50; ++round) {
    // Every other time nobody else has it, and they are killed while they make it.
    std::unique_ptr<Tier> mine;
    if (round % 2 == 1) mine = std::make_unique<Tier>(folder.path(), 8 * kMiB, kNumbers);
    std::vector<pid_t> children;
    for (int i = 0; i < 2; ++i)
      children.push_back(in_child([&] {
        Tier theirs(folder.path(), 8 * kMiB, kNumbers);
        for (std::uint64_t n = 0;; ++n) theirs.add(mix64(n + static_cast<std::uint64_t>(round)) % kNumbers);
        return 0;
      }));
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(500 + draws.below(3000));
    while (std::chrono::steady_clock::now() < until)
      if (mine) {
        ASSERT_NE(mine->look(draws.below(kNumbers)), Tier::kWrong);
      }
    for (const pid_t child : children) kill(child, SIGKILL);
    for (const pid_t child : children) waitpid(child, nullptr, 0);
    if (!mine) mine = std::make_unique<Tier>(folder.path(), 8 * kMiB, kNumbers);
    ASSERT_TRUE(mine->is_open()) << mine->error().describe();
    ASSERT_GE(mine->count(kNumbers), 0);
    ASSERT_EQ((*mine)->state().damaged, 0u) << "what is published is whole";
  }
  Tier tier(folder.path(), 8 * kMiB, kNumbers);
  for (std::uint64_t i = 0; i < kNumbers; ++i) tier.add(i);
  EXPECT_EQ(tier.count(kNumbers), static_cast<int>(kNumbers)) << "what they had begun is finished";
}

}  // namespace
}  // namespace penstock
