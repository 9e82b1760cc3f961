#include "cache/shared/entry_table.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <thread>

#include "base/memory/memory_block.h"
#include "base/random.h"
#include "cache/shared/mapping_guard.h"
#include "cache/shared/shared_file.h"
#include "support/temporary_folder.h"

namespace penstock {
namespace {

constexpr std::uint64_t kEntries = 1000, kCapacity = 1 << 20;

// What process or thread whatever writes as this entry: all can check all.
void write_entry(std::byte* at, const EntryKey& key, std::uint64_t length) {
  for (std::uint64_t i = 0; i < length; ++i) at[i] = static_cast<std::byte>(mix64(key.low + i) & 255);
}

bool is_entry(const std::byte* at, const EntryKey& key, std::uint64_t length) {
  for (std::uint64_t i = 0; i < length; ++i)
    if (at[i] != static_cast<std::byte>(mix64(key.low + i) & 255)) return false;
  return true;
}

std::uint64_t length_of(const EntryKey& key) { return 1 + mix64(key.low) % 2000; }

// A table with its area, as the RAM tier has them.
class SharedTable {
 public:
  explicit SharedTable(const std::string& path, std::uint64_t entries = kEntries,
                       std::uint64_t capacity = kCapacity, bool reuses_space = false) {
    const std::uint64_t bytes = EntryTable::bytes_for(entries);
    auto file = SharedFile::attach(path, bytes + capacity, true, [&](const SharedFile& fresh) -> Status {
      PENSTOCK_CHECK(fresh.make_empty(bytes));
      EntryTable::format(fresh.bytes().first(bytes), capacity);
      return {};
    });
    if (!file) throw std::runtime_error(file.error().describe());
    file_ = std::move(*file);
    table_.emplace(file_->bytes().first(bytes), EntryTable::Options{reuses_space});
    area_ = file_->bytes().data() + bytes;
    area_offset_ = bytes;
  }

  EntryTable& table() { return *table_; }
  const std::byte* at(const EntryLocation& place) const { return area_ + place.offset; }

  bool add(const EntryKey& key) {
    const auto claim = table_->claim(key, length_of(key), [](auto, auto) { return true; });
    if (!claim) return false;
    std::vector<std::byte> bytes(length_of(key));
    write_entry(bytes.data(), key, bytes.size());
    if (!file_->write(area_offset_ + claim->offset, bytes)) return false;
    table_->publish(*claim, 0);
    return true;
  }

 private:
  std::unique_ptr<SharedFile> file_;
  std::optional<EntryTable> table_;
  std::byte* area_ = nullptr;
  std::uint64_t area_offset_ = 0;
};

TEST(EntryTable, entries_are_found_as_they_were_added_and_no_others) {
  const TemporaryFolder folder;
  SharedTable shared(folder / "t");
  std::uint64_t added = 0;
  for (std::uint64_t i = 0; i < 1300; ++i) added += shared.add({1, i}) ? 1 : 0;
  EXPECT_EQ(shared.table().entries(), added);
  EXPECT_LE(shared.table().used_bytes(), kCapacity);
  EXPECT_GT(shared.table().used_bytes(), kCapacity - 3000) << "full to the last entry that fits";
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    EXPECT_FALSE(shared.table().find({2, i}));
    const auto place = shared.table().find({1, i});
    if (!place) continue;
    ++found;
    EXPECT_EQ(place->length, length_of({1, i}));
    EXPECT_TRUE(is_entry(shared.at(*place), {1, i}, place->length));
  }
  EXPECT_EQ(found, added);
}

TEST(EntryTable, an_entry_is_added_once) {
  const TemporaryFolder folder;
  SharedTable shared(folder / "t");
  EXPECT_TRUE(shared.add({1, 5}));
  EXPECT_FALSE(shared.add({1, 5}));
  const auto claim = shared.table().claim({1, 6}, 10, [](auto, auto) { return true; });
  ASSERT_TRUE(claim);
  EXPECT_FALSE(shared.add({1, 6})) << "somebody is at it";
  EXPECT_FALSE(shared.table().find({1, 6}));
  shared.table().give_up(*claim);
  const auto again = shared.table().claim({1, 6}, 10, [](auto, auto) { return true; });
  ASSERT_TRUE(again);
  EXPECT_EQ(again->offset, claim->offset) << "no room is lost";
}

TEST(EntryTable, a_full_table_says_so_and_a_taken_entry_too) {
  const TemporaryFolder folder;
  SharedTable shared(folder / "t", kEntries, 4096);
  const auto yes = [](auto, auto) { return true; };
  const auto claim = shared.table().claim({1, 1}, 4000, yes);
  ASSERT_TRUE(claim);
  EXPECT_EQ(shared.table().claim({1, 1}, 4000, yes).error(), EntryTable::Refusal::kTaken);
  EXPECT_EQ(shared.table().claim({1, 2}, 100, yes).error(), EntryTable::Refusal::kFull);
  EXPECT_EQ(shared.table().claim({1, 3}, UINT64_MAX - 10, yes).error(), EntryTable::Refusal::kFull);
  EXPECT_TRUE(shared.table().claim({1, 4}, 60, yes));
}

TEST(EntryTable, what_is_withdrawn_may_be_added_again) {
  for (const bool reuses : {false, true}) {
    const TemporaryFolder folder;
    SharedTable shared(folder / "t", kEntries, kCapacity, reuses);
    EXPECT_TRUE(shared.add({1, 5}));
    const auto before = shared.table().find({1, 5});
    const std::uint64_t used = shared.table().used_bytes();
    EXPECT_TRUE(shared.table().withdraw({1, 5}));
    EXPECT_FALSE(shared.table().withdraw({1, 5}));
    EXPECT_FALSE(shared.table().find({1, 5}));
    EXPECT_EQ(shared.table().entries(), 0u);
    EXPECT_TRUE(shared.add({1, 5}));
    const auto after = shared.table().find({1, 5});
    ASSERT_TRUE(before && after);
    EXPECT_EQ(after->slot, before->slot);
    // Where others may still read the old bytes, they stay.
    EXPECT_EQ(after->offset == before->offset, reuses);
    EXPECT_EQ(shared.table().used_bytes() == used, reuses);
  }
}

TEST(EntryTable, no_room_is_used_that_the_system_does_not_give) {
  const TemporaryFolder folder;
  SharedTable shared(folder / "t");
  const auto no = [](auto, auto) { return false; };
  EXPECT_EQ(shared.table().claim({1, 1}, 100, no).error(), EntryTable::Refusal::kFull);
  EXPECT_EQ(shared.table().used_bytes(), 0u);
  EXPECT_TRUE(shared.add({1, 1}));
}

TEST(EntryTable, a_damaged_header_is_not_taken_for_a_table) {
  const TemporaryFolder folder;
  std::vector<std::byte> memory(EntryTable::bytes_for(100));
  EXPECT_FALSE(EntryTable::is_formatted(memory));
  EntryTable::format(memory, 1000);
  EXPECT_TRUE(EntryTable::is_formatted(memory));
  EXPECT_FALSE(EntryTable::is_formatted(ConstBytes(memory).first(memory.size() - 4096)));
  EXPECT_FALSE(EntryTable::is_formatted({}));
  EXPECT_EQ(EntryTable(memory, {}).machine(), this_machine());
}

TEST(EntryTable, what_is_not_there_is_not_found_while_others_add) {
  constexpr std::uint64_t kTables = 10'000, kEach = 30;
  const std::uint64_t bytes = EntryTable::bytes_for(kEach);
  const MemoryBlock memory = MemoryBlock::allocate(kTables * bytes);
  const auto table = [&](std::uint64_t number) {
    return EntryTable({memory.data() + number * bytes, bytes}, {});
  };
  for (std::uint64_t i = 0; i < kTables; ++i)
    EntryTable::format({memory.data() + i * bytes, bytes}, kCapacity);
  // The reader asks for others than are added, but in the same few slots.
  std::atomic<std::uint64_t> current = 0, found = 0;
  std::jthread reader([&] {
    for (std::uint64_t i = 0, at = 0; (at = current.load()) < kTables; ++i)
      if (table(at).find({2, i % 1000})) ++found;
  });
  for (std::uint64_t i = 0; i < kTables; current = ++i)
    for (std::uint64_t n = 0; n < kEach; ++n) {
      const auto claim = table(i).claim({1, n}, 10, [](auto, auto) { return true; });
      ASSERT_TRUE(claim);
      table(i).publish(*claim, 0);
    }
  reader.join();
  EXPECT_EQ(found, 0u);
}

TEST(EntryTable, the_file_lives_as_long_as_somebody_has_it) {
  const TemporaryFolder folder;
  const std::string path = folder / "t";
  auto first = std::make_unique<SharedTable>(path);
  EXPECT_TRUE(first->add({1, 1}));
  {
    SharedTable second(path);
    EXPECT_TRUE(second.table().find({1, 1}));
    first.reset();
    EXPECT_EQ(remove_abandoned(folder.path(), "t"), 0u);
    EXPECT_TRUE(second.add({1, 2}));
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0) << "the last one removes it";
  SharedTable third(path);
  EXPECT_FALSE(third.table().find({1, 1}));
}

TEST(EntryTable, processes_that_are_killed_leave_a_valid_table) {
  const TemporaryFolder folder;
  const std::string path = folder / "t";
  SharedTable mine(path, 4000, 8 << 20);
  Draws draws(1, 0, 0);
  for (int round = 0; round < 30; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 2; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        SharedTable theirs(path, 4000, 8 << 20);
        for (std::uint64_t n = 0;; ++n) theirs.add({1, mix64(n + static_cast<std::uint64_t>(round)) % 3000});
      }
      children.push_back(child);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + draws.below(3000)));
    for (const pid_t child : children) kill(child, SIGKILL);
    for (const pid_t child : children) waitpid(child, nullptr, 0);
    for (std::uint64_t n = 0; n < 3000; ++n)
      if (const auto place = mine.table().find({1, n})) {
        ASSERT_TRUE(is_entry(mine.at(*place), {1, n}, place->length)) << n;
      }
  }
  // What they had begun is finished by others, in the same room.
  for (std::uint64_t n = 0; n < 3000; ++n) mine.add({1, n});
  std::uint64_t bytes = 0;
  for (std::uint64_t n = 0; n < 3000; ++n) {
    const auto place = mine.table().find({1, n});
    ASSERT_TRUE(place) << n;
    ASSERT_TRUE(is_entry(mine.at(*place), {1, n}, place->length)) << n;
    bytes += (place->length + 63) / 64 * 64;
  }
  EXPECT_LE(mine.table().used_bytes() - bytes, 60u * 2048) << "at most one entry is lost with each";
}

constexpr std::uint64_t kSlab = EntryTable::Options{}.slab_bytes;

// Claims an entry that begins a new slab and does something while it has the table's lock.
void claim_and(EntryTable& table, std::uint64_t number, const std::function<void()>& inside) {
  (void)table.claim({number, number}, kSlab, [&](auto, auto) {
    inside();
    return true;
  });
}

// A process that is stopped while it has the table's lock.
pid_t stop_with_the_lock(EntryTable& table) {
  const pid_t child = fork();
  if (child == 0) {
    claim_and(table, 2, [] { raise(SIGSTOP); });
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(WIFSTOPPED(status));
  return child;
}

TEST(EntryTable, nobody_waits_long_for_a_process_that_is_stopped_with_the_lock) {
  const TemporaryFolder folder;
  SharedTable shared(folder / "t", kEntries, 2 * kSlab);
  ASSERT_TRUE(shared.add({1, 1}));
  const pid_t child = stop_with_the_lock(shared.table());
  int status = 0;
  EXPECT_TRUE(shared.table().find({1, 1})) << "looking needs no lock";
  EXPECT_FALSE(shared.add({3, 3}));
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t i = 4; i < 100; ++i) EXPECT_FALSE(shared.add({i, i}));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(3)) << "it is waited for once";
  EXPECT_EQ(shared.table().agree(5, 6), 6u);
  EXPECT_EQ(shared.table().lock_timeouts(), 98u);
  kill(child, SIGCONT);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(shared.add({3, 3}));
  EXPECT_EQ(shared.table().lock_timeouts(), 98u);
}

TEST(EntryTable, what_is_given_up_without_the_lock_may_be_claimed_again) {
  const TemporaryFolder folder;
  SharedTable shared(folder / "t", kEntries, 2 * kSlab);
  const auto claim = shared.table().claim({1, 1}, 100, [](auto, auto) { return true; });
  ASSERT_TRUE(claim);
  const pid_t child = stop_with_the_lock(shared.table());
  int status = 0;
  shared.table().give_up(*claim);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  const auto again = shared.table().claim({1, 1}, 100, [](auto, auto) { return true; });
  ASSERT_TRUE(again);
  EXPECT_EQ(again->offset, claim->offset);
}

TEST(SharedFile, one_that_is_cut_short_reads_as_an_empty_table) {
  const TemporaryFolder folder;
  SharedTable shared(folder / "t");
  ASSERT_TRUE(shared.add({1, 1}));
  const std::uint64_t lost = lost_mappings();
  ASSERT_EQ(truncate((folder / "t").c_str(), 0), 0);
  EXPECT_FALSE(shared.table().find({1, 1}));
  EXPECT_FALSE(shared.add({2, 2}));
  EXPECT_EQ(lost_mappings(), lost + 1);
}

TEST(SharedFile, a_file_that_others_could_read_is_closed_to_them) {
  const TemporaryFolder folder;
  std::ofstream(folder / "t") << "ours";
  ASSERT_EQ(chmod((folder / "t").c_str(), 0644), 0);
  const auto file = SharedFile::attach(folder / "t", 4096, true, [](const SharedFile&) { return Status{}; });
  ASSERT_TRUE(file);
  struct stat status{};
  ASSERT_EQ(stat((folder / "t").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(SharedFile, a_file_that_others_may_write_is_left_alone) {
  const TemporaryFolder folder;
  std::ofstream(folder / "t") << "theirs";
  ASSERT_EQ(chmod((folder / "t").c_str(), 0666), 0);
  const auto file = SharedFile::attach(folder / "t", 4096, true, [](const SharedFile&) { return Status{}; });
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kNoAccess);
}

}  // namespace
}  // namespace penstock
