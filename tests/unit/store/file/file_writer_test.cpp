#include "store/file/file_writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "store/file/file_store.h"
#include "support/fault_calls.h"
#include "support/temporary_folder.h"

namespace penstock {
namespace {

std::string text_in(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class FileWriting : public testing::Test {
 protected:
  FileWriting() { std::ofstream(path_) << "old"; }

  Status replace(const std::shared_ptr<const FileCalls>& calls, CreateOptions options = {}) const {
    auto writer = FileStore(calls).create(path_, options);
    if (!writer) return std::unexpected(writer.error());
    const std::string_view text = "new";
    PENSTOCK_CHECK((*writer)->write(std::as_bytes(std::span(text))));
    return (*writer)->commit();
  }
  std::size_t files() const { return FileStore().list(folder_.path())->size(); }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "x";
};

TEST_F(FileWriting, every_failing_system_call_leaves_the_old_file_and_no_other) {
  for (const CallFaults& faults :
       {CallFaults{.create_errno = EACCES}, CallFaults{.write_errno = ENOSPC}, CallFaults{.fsync_errno = EIO},
        CallFaults{.rename_errno = EXDEV}, CallFaults{.write_errno = EINTR}, CallFaults{.create_errno = EEXIST}}) {
    const auto calls = std::make_shared<FaultCalls>(faults);
    const Status replaced = replace(calls);
    ASSERT_FALSE(replaced);
    EXPECT_EQ(replaced.error().where.uri, path_);
    EXPECT_EQ(text_in(path_), "old") << replaced.error().describe();
    EXPECT_EQ(files(), 1u) << replaced.error().describe();
    EXPECT_EQ(calls->open_files(), 0);
  }
}

TEST_F(FileWriting, a_rename_that_cannot_be_made_durable_is_reported_and_the_new_file_is_whole) {
  const auto calls = std::make_shared<FaultCalls>(CallFaults{.folder_fsync_errno = EIO});
  EXPECT_EQ(replace(calls).error().code, ErrorCode::kIo);
  EXPECT_EQ(text_in(path_), "new");
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(calls->open_files(), 0);
  EXPECT_TRUE(replace(std::make_shared<FaultCalls>(CallFaults{.folder_fsync_errno = EINVAL})))
      << "a file system that cannot sync folders";
}

TEST_F(FileWriting, file_and_folder_are_synced_unless_the_caller_declines) {
  const auto calls = std::make_shared<FaultCalls>(CallFaults{});
  ASSERT_TRUE(replace(calls, {.sync = false}));
  EXPECT_EQ(calls->syncs(), 0u);
  ASSERT_TRUE(replace(calls));
  EXPECT_EQ(calls->syncs(), 2u);
  EXPECT_EQ(text_in(path_), "new");
}

TEST_F(FileWriting, a_file_for_its_owner_alone_is_never_readable_by_others) {
  auto writer = FileStore().create(path_, {.owner_only = true});
  ASSERT_TRUE(writer);
  const auto mode_of = [](const std::string& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 0777;
  };
  const auto entries = FileStore().list(folder_.path());
  for (const FolderEntry& entry : *entries)
    if (entry.name != "x") {
      EXPECT_EQ(mode_of(folder_ / entry.name), 0600u);
    }
  ASSERT_TRUE((*writer)->commit());
  EXPECT_EQ(mode_of(path_), 0600u);
}

TEST_F(FileWriting, two_writers_of_one_file_do_not_disturb_each_other) {
  const FileStore store;
  auto first = store.create(path_), second = store.create(path_);
  ASSERT_TRUE(first && second);
  const std::string_view one = "first", two = "second";
  ASSERT_TRUE((*first)->write(std::as_bytes(std::span(one))));
  ASSERT_TRUE((*second)->write(std::as_bytes(std::span(two))));
  ASSERT_TRUE((*second)->commit());
  EXPECT_EQ(text_in(path_), "second");
  ASSERT_TRUE((*first)->commit());
  EXPECT_EQ(text_in(path_), "first");
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace penstock
