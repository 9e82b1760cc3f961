// Whole data sets are staged: what is copied, what a second run does, and what happens when the disk fails.
#include "penstock/stage.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "stage/copying_folder.h"
#include "stage/stage_records.h"
#include "store/memory_store.h"
#include "store/store_of_uri.h"
#include "support/failing_stage_calls.h"
#include "support/fault_store.h"
#include "support/temporary_folder.h"
#include "support/text_bytes.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPiece = 4096;

std::string letters(std::size_t size, unsigned seed) {
  std::string text(size, 'a');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 97 + seed) % 26);
  return text;
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class StageDataSet : public testing::Test {
 protected:
  void SetUp() override {
    for (unsigned i = 0; i < 20; ++i) source_.write("cats/" + std::to_string(i), bytes_of(letters(100 + i, i)));
    source_.write("dogs/deep/er/large.tar", bytes_of(letters(10 * kPiece + 17, 5)));
    source_.write("empty", {});
    options_.piece_bytes = kPiece;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(source_.path()))
      if (entry.is_regular_file()) out.push_back(fs::relative(entry.path(), source_.path()));
    return out;
  }
  void expect_equal() const {
    for (const std::string& name : names()) EXPECT_EQ(contents(target_ / name), contents(source_ / name)) << name;
    const auto check = check_staged(target_.path());
    ASSERT_TRUE(check) << check.error().describe();
    EXPECT_EQ(check->objects, names().size());
    EXPECT_TRUE(check->damaged.empty());
    // Nothing but the manifest and the claims is left over.
    EXPECT_EQ(std::distance(fs::directory_iterator(target_ / ".penstock-stage"), {}), 2);
  }

  Watchdog watchdog_{"staging", std::chrono::seconds(120)};
  TemporaryFolder source_, target_;
  StageOptions options_;
};

TEST_F(StageDataSet, a_folder_is_copied_with_its_names) {
  const auto report = stage(source_.path(), target_.path(), options_);
  ASSERT_TRUE(report) << report.error().describe();
  EXPECT_EQ(report->objects, 22);
  EXPECT_EQ(report->objects_skipped, 0);
  EXPECT_EQ(report->bytes_copied, report->bytes);
  expect_equal();
}

TEST_F(StageDataSet, a_second_run_copies_what_has_changed) {
  ASSERT_TRUE(stage(source_.path(), target_.path(), options_));
  source_.write("cats/3", bytes_of("another cat"));
  source_.write("new", bytes_of("new"));
  const auto report = stage(source_.path(), target_.path(), options_);
  ASSERT_TRUE(report) << report.error().describe();
  EXPECT_EQ(report->objects, 23);
  EXPECT_EQ(report->objects_skipped, 21);
  EXPECT_EQ(report->bytes_copied, 14);
  expect_equal();
  EXPECT_EQ(contents(target_ / "cats/3"), "another cat");
}

TEST_F(StageDataSet, objects_and_patterns_are_named_from_their_folder) {
  ASSERT_TRUE(stage(source_ / "dogs/deep/er/large.tar", target_.path(), options_));
  EXPECT_TRUE(fs::exists(target_ / "large.tar"));
  const TemporaryFolder other;
  const auto report = stage(source_ / "c*/{3,4,1?}", other.path(), options_);
  ASSERT_TRUE(report) << report.error().describe();
  EXPECT_EQ(report->objects, 12);
  EXPECT_EQ(contents(other / "cats/14"), contents(source_ / "cats/14"));
}

TEST_F(StageDataSet, a_file_that_was_not_staged_is_never_replaced) {
  target_.write("cats/7", bytes_of("mine"));
  const auto report = stage(source_.path(), target_.path(), options_);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(report.error().where.uri, target_ / "cats/7");
  EXPECT_EQ(contents(target_ / "cats/7"), "mine");
  fs::remove(target_ / "cats/7");
  ASSERT_TRUE(stage(source_.path(), target_.path(), options_));
  // Nor is the copy of another data set.
  const TemporaryFolder other;
  other.write("empty", bytes_of("x"));
  EXPECT_EQ(stage(other.path(), target_.path(), options_).error().code, ErrorCode::kInvalidArgument);
  expect_equal();
}

TEST_F(StageDataSet, what_is_missing_is_named) {
  const auto report = stage(source_ / "birds", target_.path(), options_);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(stage("", target_.path(), options_).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(StageDataSet, a_folder_within_the_source_is_refused) {
  for (const std::string& folder : {source_.path(), source_ / "copy"}) {
    const auto report = stage(source_.path(), folder, options_);
    ASSERT_FALSE(report) << folder;
    EXPECT_EQ(report.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(stage(source_ / "cats", source_ / "cats-copy", options_));
}

TEST_F(StageDataSet, too_little_space_is_noticed_first_with_both_numbers) {
  const auto calls = std::make_shared<FailingCalls>();
  calls->free = 1000;
  const auto report = stage_by(calls, source_.path(), target_.path(), options_);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("1000 bytes free, and 43"), std::string::npos) << report.error().message;
  EXPECT_FALSE(fs::exists(target_ / "cats"));
}

TEST_F(StageDataSet, every_failure_of_the_disk_is_an_error_and_the_next_run_mends_it) {
  struct Case {
    const char* name;
    std::atomic<int> FailingCalls::*call;
    int number, good_writes;
    const char* message;
  };
  for (const Case& fault : {Case{"ENOSPC", &FailingCalls::fallocate_errno, ENOSPC, 0, "reserve space"},
                            Case{"EIO of a write", &FailingCalls::pwrite_errno, EIO, 0, "write"},
                            Case{"ENOSPC of a later write", &FailingCalls::pwrite_errno, ENOSPC, 9, "write"},
                            Case{"EIO of fsync", &FailingCalls::fsync_errno, EIO, 0, "sync"},
                            Case{"EIO of rename", &FailingCalls::rename_errno, EIO, 0, "rename"}}) {
    SCOPED_TRACE(fault.name);
    fs::remove_all(target_.path());
    const auto calls = std::make_shared<FailingCalls>();
    (*calls).*fault.call = fault.number;
    calls->good_writes = fault.good_writes;
    const auto report = stage_by(calls, source_.path(), target_.path(), options_);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::kIo);
    EXPECT_NE(report.error().message.find(fault.message), std::string::npos) << report.error().message;
    const auto again = stage(source_.path(), target_.path(), options_);
    ASSERT_TRUE(again) << again.error().describe();
    expect_equal();
  }
}

TEST_F(StageDataSet, a_file_system_that_reserves_nothing_will_do) {
  const auto calls = std::make_shared<FailingCalls>();
  calls->fallocate_errno = EOPNOTSUPP;
  ASSERT_TRUE(stage_by(calls, source_.path(), target_.path(), options_));
  expect_equal();
}

// A disk whose syncs take long, while everything else is quick.
struct SlowSyncs final : StageCalls {
  int syncfs(int file) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return StageCalls::syncfs(file);
  }
};

TEST_F(StageDataSet, more_objects_than_may_be_open_wait_for_a_slow_disk_and_none_is_left_out) {
  for (unsigned i = 0; i < 1200; ++i) source_.write("many/" + std::to_string(i), bytes_of(letters(10, i)));
  const auto report = stage_by(std::make_shared<SlowSyncs>(), source_.path(), target_.path(), options_);
  ASSERT_TRUE(report) << report.error().describe();
  EXPECT_EQ(report->objects, 1222);
  expect_equal();
}

TEST_F(StageDataSet, damaged_copies_are_found) {
  ASSERT_TRUE(stage(source_.path(), target_.path(), options_));
  std::string bytes = contents(target_ / "dogs/deep/er/large.tar");
  bytes[5 * kPiece + 3] ^= 1;
  target_.write("dogs/deep/er/large.tar", bytes_of(bytes));
  target_.write("cats/1", bytes_of("short"));
  fs::remove(target_ / "cats/2");
  const auto check = check_staged(target_.path());
  ASSERT_TRUE(check) << check.error().describe();
  ASSERT_EQ(check->damaged.size(), 3);
  EXPECT_EQ(check->damaged[0].problem, "has 5 bytes, 101 were staged");
  EXPECT_EQ(check->damaged[1].problem, "is missing");
  EXPECT_EQ(check->damaged[2].problem, "has other bytes at 20480 to 24576");
  // Those whose size shows it are copied again by themselves.
  fs::remove(target_ / "dogs/deep/er/large.tar");
  ASSERT_TRUE(stage(source_.path(), target_.path(), options_));
  expect_equal();
}

TEST_F(StageDataSet, several_at_once_share_the_work) {
  for (unsigned i = 0; i < 10; ++i)
    source_.write("more/" + std::to_string(i), bytes_of(letters(20 * kPiece + i, i)));
  std::vector<Result<StageReport>> reports(4);
  {
    std::vector<std::jthread> threads;
    for (auto& report : reports) threads.emplace_back([&] { report = stage(source_.path(), target_.path(), options_); });
  }
  std::uint64_t copied = 0;
  for (const auto& report : reports) {
    ASSERT_TRUE(report) << report.error().describe();
    copied += report->bytes_copied;
  }
  EXPECT_EQ(copied, reports.front()->bytes);
  expect_equal();
}

// ---- Resuming, with a store that fails after some reads.

class StageResume : public StageDataSet {
 protected:
  static constexpr std::size_t kSize = 40 * kPiece + 5;

  void SetUp() override {
    StageDataSet::SetUp();
    store_.put("mem://b/x.tar", bytes_of(text_));
    options_.threads = 1;
  }
  Result<StageReport> run(FaultPlan plan = {}) {
    plan.only = StoreCall::kStartRead;
    const auto store = std::make_shared<FaultStore>(std::make_shared<MemoryStore>(store_), plan);
    const StoreKindScope scope({{"mem"}, [&](const std::string&, const std::vector<std::string>&)
                                             -> Result<std::shared_ptr<const Store>> { return store; }});
    return stage("mem://b/x.tar", target_.path(), options_);
  }
  std::string in_own_folder(const std::string& ending) const {
    for (const auto& entry : fs::directory_iterator(target_ / ".penstock-stage"))
      if (entry.path().extension() == ending) return entry.path();
    return "";
  }
  // Begins a copy, which fails after a while.
  void begin() {
    const auto report = run({.fail_at = 25, .persistent = true});
    ASSERT_FALSE(report);
    ASSERT_NE(in_own_folder(".data"), "");
  }
  std::uint64_t resume() {
    const auto report = run();
    EXPECT_TRUE(report) << report.error().describe();
    EXPECT_EQ(contents(target_ / "x.tar"), text_);
    return report ? report->bytes_copied : 0;
  }

  const std::string text_ = letters(kSize, 3);
  MemoryStore store_;
};

TEST_F(StageResume, only_the_rest_is_read) {
  begin();
  const std::uint64_t rest = resume();
  EXPECT_GE(rest, kSize - 25 * kPiece);
  EXPECT_LE(rest, kSize - 20 * kPiece);
}

TEST_F(StageResume, damaged_pieces_are_noticed) {
  begin();
  std::string data = contents(in_own_folder(".data"));
  ASSERT_EQ(data.size(), kSize);
  std::uint64_t known = 0;
  parse_frames(bytes_of(contents(in_own_folder(".journal"))), [&](ConstBytes payload) {
    if (const auto range = parse_staged_range(payload, kSize)) known += range->length;
  });
  ASSERT_GE(known, 20 * kPiece);
  data[3 * kPiece + 1] ^= 4;                                                   // flipped
  std::swap_ranges(data.begin(), data.begin() + kPiece, data.begin() + kPiece);  // swapped
  std::ofstream(in_own_folder(".data"), std::ios::binary) << data;
  EXPECT_EQ(resume(), kSize - known + 3 * kPiece);
}

TEST_F(StageResume, a_shortened_copy_begins_anew) {
  begin();
  fs::resize_file(in_own_folder(".data"), kSize - 1);
  EXPECT_EQ(resume(), kSize);
}

TEST_F(StageResume, every_damage_to_the_journal_costs_reads_and_nothing_else) {
  begin();
  const std::string data = contents(in_own_folder(".data")), journal = contents(in_own_folder(".journal"));
  const std::string data_path = in_own_folder(".data"), journal_path = in_own_folder(".journal");
  for (std::size_t at = 0; at < journal.size(); at += 13) {
    SCOPED_TRACE(at);
    fs::remove_all(target_.path());
    fs::create_directories(target_ / ".penstock-stage");
    std::string bad = journal;
    if (at % 2 == 0) bad[at] ^= 64;
    if (at % 2 == 1) bad.resize(at);
    std::ofstream(data_path, std::ios::binary) << data;
    std::ofstream(journal_path, std::ios::binary) << bad;
    const std::uint64_t rest = resume();
    EXPECT_GE(rest, kSize - 25 * kPiece);
    if (at % 2 == 0 && at > 60) {
      EXPECT_LE(rest, kSize - 20 * kPiece);
    }
  }
}

TEST_F(StageResume, a_source_that_changed_is_copied_anew_and_never_mixed) {
  begin();
  const std::string other = letters(kSize, 9);
  store_.put("mem://b/x.tar", bytes_of(other));
  const auto report = run();
  ASSERT_TRUE(report) << report.error().describe();
  EXPECT_EQ(report->bytes_copied, kSize);
  EXPECT_EQ(contents(target_ / "x.tar"), other);
}

TEST_F(StageResume, a_source_that_changes_between_two_pieces_is_an_error) {
  options_.progress = [&](const StageProgress& progress) {
    if (progress.bytes > 0 && progress.bytes < kSize) store_.put("mem://b/x.tar", bytes_of(letters(kSize, 9)));
    return true;
  };
  // The store answers at once, so the change may come too late; then the copy is whole.
  for (int tries = 0; tries < 50; ++tries) {
    fs::remove_all(target_.path());
    store_.put("mem://b/x.tar", bytes_of(text_));
    const auto report = run();
    if (report) {
      EXPECT_EQ(contents(target_ / "x.tar"), text_);
    } else {
      EXPECT_EQ(report.error().code, ErrorCode::kChanged);
      EXPECT_FALSE(fs::exists(target_ / "x.tar"));
      return;
    }
  }
}

}  // namespace
}  // namespace penstock
