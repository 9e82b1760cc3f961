// Readers get the bytes of the source, wherever they come from.
#include "stage/staged_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/random.h"
#include "stage/copying_folder.h"
#include "stage/staged_root.h"
#include "store/file/file_store.h"
#include "support/failing_stage_calls.h"
#include "support/http_reading.h"
#include "support/temporary_folder.h"
#include "support/watchdog.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPiece = 4096, kSize = 100 * kPiece + 77;

class ListOfOne final : public ObjectWalk {
 public:
  explicit ListOfOne(std::string key) : key_(std::move(key)) {}
  std::optional<FoundObject> next() override {
    if (std::exchange(is_over_, true)) return std::nullopt;
    return FoundObject{key_, std::nullopt};
  }

 private:
  const std::string key_;
  bool is_over_ = false;
};

class ThroughFolder : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    source_ = std::make_shared<WatchedStore>(GetParam());
    source_->put(kKey, text_);
    open();
  }
  void open() {
    StageOptions options;
    options.piece_bytes = kPiece;
    options.memory_bytes = 16 * kPiece;
    options.sync = syncs_;  // a busy disk takes long
    auto folder = CopyingFolder::open(folder_.path(), options, calls_);
    ASSERT_TRUE(folder) << folder.error().describe();
    stage_ = *folder;
    store_ = stage_->before(source_, "mem://b");
  }
  void copy() { stage_->core().copy(std::make_unique<ListOfOne>(kKey), false); }
  void wait_until_whole() {
    while (stage_->stats().objects_whole == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  // By read(), and by an object that was opened.
  std::string read(std::uint64_t offset, std::uint64_t length, bool opens) const {
    if (!opens) {
      const auto answer = read_text(*store_, {kKey, {offset, length}, length});
      return answer ? answer->text : answer.error().describe();
    }
    auto object = store_->open(kKey);
    if (!object) return object.error().describe();
    std::string out(length, '?');
    const auto status = (*object)->read_at(offset, std::as_writable_bytes(std::span(out)));
    return status ? out : status.error().describe();
  }
  void read_randomly(int reads, std::uint64_t seed) const {
    Draws draws(seed, 0, 0);
    for (int i = 0; i < reads; ++i) {
      const std::uint64_t offset = draws.below(kSize), length = draws.below(std::min(kSize - offset, 3 * kPiece) + 1);
      ASSERT_EQ(read(offset, length, i % 2 == 0), text_.substr(offset, length)) << offset << " + " << length;
    }
  }

  static constexpr const char* kKey = "mem://b/x.tar";
  const std::string text_ = counted_text(kSize, 3);
  Watchdog watchdog_{"through folder", std::chrono::seconds(60)};
  TemporaryFolder folder_;
  bool syncs_ = false;
  std::shared_ptr<FailingCalls> calls_ = std::make_shared<FailingCalls>();
  std::shared_ptr<WatchedStore> source_;
  std::shared_ptr<CopyingFolder> stage_;
  std::shared_ptr<const Store> store_;
};

TEST_P(ThroughFolder, what_was_read_is_not_read_again) {
  EXPECT_EQ(read(kPiece, 3 * kPiece, false), text_.substr(kPiece, 3 * kPiece));
  const std::uint64_t from_source = stage_->stats().read_through;
  EXPECT_GE(stage_->stats().kept, 3 * kPiece);
  for (const bool opens : {false, true})
    EXPECT_EQ(read(2 * kPiece, kPiece, opens), text_.substr(2 * kPiece, kPiece));
  EXPECT_EQ(stage_->stats().read_through, from_source);
  EXPECT_EQ(stage_->stats().served, 2 * kPiece);
}

TEST_P(ThroughFolder, only_the_missing_part_comes_from_the_source) {
  read(0, 2 * kPiece, false);
  for (const bool opens : {false, true}) {
    const std::uint64_t begin = opens ? 10 * kPiece : 0;
    if (opens) read(begin, 2 * kPiece, false);
    const std::uint64_t known = stage_->stats().read_through;
    EXPECT_EQ(read(begin + kPiece, 5 * kPiece, opens), text_.substr(begin + kPiece, 5 * kPiece));
    EXPECT_LE(stage_->stats().read_through - known, 4 * kPiece);
  }
}

TEST_P(ThroughFolder, readers_and_the_copier_bring_each_byte_once) {
  copy();
  {
    std::vector<std::jthread> readers;
    for (std::uint64_t seed = 0; seed < 3; ++seed) readers.emplace_back([this, seed] { read_randomly(150, seed); });
  }
  wait_until_whole();
  read_randomly(50, 9);
  const StagingStats stats = stage_->stats();
  EXPECT_EQ(stats.error, "");
  // Readers may read the same bytes at the same time, and keep nothing of very short reads.
  EXPECT_LE(stats.copied + stats.kept, kSize + kSize / 4);
  std::ifstream file(folder_ / "x.tar", std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text_);
}

TEST_P(ThroughFolder, a_whole_copy_is_used_by_the_next_run) {
  copy();
  wait_until_whole();
  store_.reset();
  stage_.reset();
  open();
  read_randomly(50, 1);
  EXPECT_EQ(stage_->stats().read_through, 0);
}

TEST_P(ThroughFolder, begun_copies_are_continued_by_the_next_run) {
  read(0, 50 * kPiece, false);
  store_.reset();
  stage_.reset();
  open();
  EXPECT_EQ(read(kPiece, 40 * kPiece, true), text_.substr(kPiece, 40 * kPiece));
  EXPECT_EQ(stage_->stats().read_through, 0);
  copy();
  wait_until_whole();
  EXPECT_LE(stage_->stats().copied, kSize - 50 * kPiece);
}

TEST_P(ThroughFolder, a_disk_that_fails_costs_nothing_but_the_copy) {
  syncs_ = true;
  for (std::atomic<int> FailingCalls::*call :
       {&FailingCalls::fallocate_errno, &FailingCalls::pwrite_errno, &FailingCalls::fsync_errno}) {
    (*calls_).*call = ENOSPC;
    calls_->good_writes = 5;
    open();
    copy();
    read_randomly(60, 4);
    for (int i = 0; i < 2000 && stage_->stats().error.empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_NE(stage_->stats().error, "");
    read_randomly(20, 5);
    (*calls_).*call = 0;
    store_.reset();
    stage_.reset();
    fs::remove_all(folder_.path());
  }
}

TEST_P(ThroughFolder, a_copy_that_was_cut_short_is_read_from_the_source) {
  copy();
  wait_until_whole();
  fs::resize_file(folder_ / "x.tar", 10 * kPiece);
  read_randomly(40, 6);
  EXPECT_GT(stage_->stats().read_through, 0);
}

TEST_P(ThroughFolder, another_version_is_never_mixed_with_the_first) {
  read(0, 20 * kPiece, false);
  const std::string other = counted_text(kSize, 8);
  source_->put(kKey, other);
  EXPECT_EQ(read_text(*store_, {kKey, {0, kSize}, kSize, *source_->stat(kKey)})->text, other);
  // A reader that does not name a version may still get the first one, as far as the folder has it, or the second one.
  const auto text = read_text(*store_, {kKey, {19 * kPiece, 3 * kPiece}, 3 * kPiece});
  ASSERT_TRUE(text) << text.error().describe();
  EXPECT_EQ(text->text, other.substr(19 * kPiece, 3 * kPiece));
}

TEST_P(ThroughFolder, objects_elsewhere_pass_by) {
  source_->put("mem://c/y", "other");
  source_->put("mem://b/../c/y", "odd");
  EXPECT_EQ(read_text(*store_, {"mem://c/y", {}, 10})->text, "other");
  EXPECT_EQ(read_text(*store_, {"mem://b/../c/y", {}, 10})->text, "odd");
  EXPECT_EQ(stage_->stats().kept, 0);
  EXPECT_EQ(read_text(*store_, {"mem://b/none", {}, 10}).error().code, ErrorCode::kNotFound);
}

TEST_P(ThroughFolder, after_the_end_everything_still_reads) {
  read(0, 20 * kPiece, false);
  stage_->close();
  read_randomly(30, 2);
  copy();
  read_randomly(5, 3);
}

INSTANTIATE_TEST_SUITE_P(ReadsAhead, ThroughFolder, testing::Values(0, 16),
                         [](const auto& test) { return test.param == 0 ? "None" : "Some"; });

TEST(StagedRoot, names_begin_at_the_folder) {
  const TemporaryFolder folder;
  folder.write("a/x.tar", {});
  folder.write("a/y.tar", {});
  folder.write("b/z.tar", {});
  const FileStore files;
  const auto root = [&](std::vector<std::string> uris) {
    for (std::string& uri : uris) uri = folder / uri;
    const std::string found = staged_root(files, uris.front(), uris);
    return found == folder.path() ? "" : found.substr(folder.path().size() + 1);
  };
  EXPECT_EQ(root({"a"}), "a");
  EXPECT_EQ(root({"a/"}), "a");
  EXPECT_EQ(root({"a/x.tar"}), "a");
  EXPECT_EQ(root({"a/{x,y}.tar"}), "a");
  EXPECT_EQ(root({"*/x.tar"}), "");
  EXPECT_EQ(root({"a/x.tar", "a/y.tar"}), "a");
  EXPECT_EQ(root({"a/x.tar", "a/x.tar"}), "a");
  EXPECT_EQ(root({"a/x.tar", "b/z.tar"}), "");
  EXPECT_EQ(root({"a", "b"}), "");
  EXPECT_EQ(staged_root(files, "x.tar", {"x.tar"}), "x.tar") << "no such file, so it is taken for a folder";
}

TEST(StagedRoot, servers_have_nothing_in_common) {
  const auto http = make_http_store();
  if (!http) GTEST_SKIP() << http.error().message;
  const auto root = [&](const std::vector<std::string>& uris) { return staged_root(**http, uris.front(), uris); };
  EXPECT_EQ(root({"https://h/d/{0..3}.tar"}), "https://h/d");
  EXPECT_EQ(root({"https://h/d/x.tar"}), "https://h/d");
  EXPECT_EQ(root({"https://h/d/x.zarr"}), "https://h/d/x.zarr");
  EXPECT_EQ(root({"https://h/d/x.tar", "https://h/e/y.tar"}), "https://h");
  EXPECT_EQ(root({"https://h/d/x.tar", "https://i/d/x.tar"}), "https://h/d");
}

}  // namespace
}  // namespace penstock
