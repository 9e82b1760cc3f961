#include "cache/disk_tier.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/random.h"
#include "cache/shared/entry_table.h"
#include "support/temporary_folder.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMiB = 1 << 20;

// The entry that everybody makes of this key: all can check all.
std::vector<std::byte> entry_of(const EntryKey& key, std::uint64_t bytes) {
  std::vector<std::byte> entry(sizeof(EntryHead) + bytes);
  EntryHead head;
  head.key = key;
  head.bytes = bytes;
  std::memcpy(entry.data(), &head, sizeof head);
  for (std::uint64_t i = 0; i < bytes; ++i)
    entry[sizeof head + i] = static_cast<std::byte>(mix64(key.low ^ i / 8) >> i % 8 * 8);
  return entry;
}

EntryKey key_of(std::uint64_t number) { return {7, number}; }
std::vector<std::byte> entry_of(std::uint64_t number) {
  return entry_of(key_of(number), 200 + mix64(number) % 400);
}

// A tier as one thread of a process uses it.
class Tier {
 public:
  explicit Tier(const std::string& folder, std::uint64_t capacity = kMiB, std::uint64_t expected = 1000) {
    auto opened = open_disk_tier(
        {folder, capacity, expected, [this](const std::string& text) { warnings_.push_back(text); }});
    if (opened)
      tier_ = std::move(*opened);
    else
      error_ = opened.error();
  }

  bool is_open() const { return tier_ != nullptr; }
  const Error& error() const { return error_; }
  CacheTier& operator*() { return *tier_; }
  CacheTier* operator->() { return tier_.get(); }
  const std::vector<std::string>& warnings() const { return warnings_; }

  CacheTier::Added add(const EntryKey& key, const std::vector<std::byte>& entry) {
    const auto added = tier_->add(
        key, entry.size(),
        [&](MutableBytes memory) -> Status {
          std::ranges::copy(entry, memory.begin());
          return {};
        },
        allocator());
    return added.value();
  }
  bool add(std::uint64_t number) { return add(key_of(number), entry_of(number)) == CacheTier::Added::kYes; }

  enum Look { kMiss, kSame, kWrong };
  Look look(const EntryKey& key, const std::vector<std::byte>& entry) {
    const auto found = tier_->find(key, allocator());
    if (!found) return kMiss;
    return std::ranges::equal(found->bytes, entry) ? kSame : kWrong;
  }
  Look look(std::uint64_t number) { return look(key_of(number), entry_of(number)); }

  // -1: one is wrong.
  int count(std::uint64_t numbers) {
    int found = 0;
    for (std::uint64_t i = 0; i < numbers; ++i) {
      const Look seen = look(i);
      if (seen == kWrong) return -1;
      found += seen == kSame ? 1 : 0;
    }
    return found;
  }

 private:
  CacheTier::Allocate allocator() {
    return [this](std::size_t bytes) -> Result<MutableBytes> {
      memory_.resize(bytes);
      return MutableBytes(memory_);
    };
  }

  CacheTierPtr tier_;
  Error error_;
  std::vector<std::string> warnings_;
  std::vector<std::byte> memory_;
};

std::string index_of(const TemporaryFolder& folder) { return folder / "penstock-cache-1/index"; }
std::string data_of(const TemporaryFolder& folder) { return folder / "penstock-cache-1/data"; }

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// In place: a file that is emptied and written again is flushed by ext4 each time.
void write_file(const std::string& path, const std::vector<char>& bytes) {
  fs::resize_file(path, bytes.size());
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void flip(const std::string& path, std::uint64_t offset, char bits) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(offset));
  const char byte = static_cast<char>(file.get() ^ bits);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
}

template <typename Value>
std::uint64_t offset_of(const std::vector<char>& index, const Value& value) {
  for (std::uint64_t at = 0; at + sizeof value <= index.size(); at += 8)
    if (std::memcmp(index.data() + at, &value, sizeof value) == 0) return at;
  ADD_FAILURE() << "not in the index";
  return 0;
}

// Where the index says which machine has it; the counts follow.
std::uint64_t machine_offset(const std::vector<char>& index) { return offset_of(index, this_machine()); }

// Runs in a process of its own; what it returns is its exit code.
template <typename Work>
pid_t in_child(const Work& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  return child;
}

int exit_code(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

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

TEST(DiskTier, another_version_is_left_alone) {
  const TemporaryFolder folder;
  folder.write("penstock-cache-0/index", std::vector<std::byte>(100));
  Tier tier(folder.path());
  EXPECT_TRUE(tier.add(1));
  EXPECT_EQ(fs::file_size(folder / "penstock-cache-0/index"), 100u);
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
