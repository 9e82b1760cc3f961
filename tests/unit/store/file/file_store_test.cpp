#include "store/file/file_store.h"

#include <gtest/gtest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "support/fault_calls.h"
#include "support/temporary_folder.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

std::vector<std::byte> bytes_of(std::size_t size) { return std::vector<std::byte>(size, std::byte{7}); }

TEST(FileStore, eio_is_retryable_and_names_file_and_place) {
  TemporaryFolder folder;
  const auto path = folder.write("x", bytes_of(100));
  const FileStore store(std::make_shared<FaultCalls>(CallFaults{.read_errno = EIO}));
  auto object = store.open(path);
  ASSERT_TRUE(object);
  std::vector<std::byte> out(10);
  const auto status = (*object)->read_at(5, out);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_TRUE(status.error().retryable);
  EXPECT_EQ(status.error().where.uri, path);
  EXPECT_EQ(status.error().where.offset, 5);
  EXPECT_EQ(status.error().where.length, 10);
}

TEST(FileStore, a_file_that_may_not_be_read_is_no_access) {
  TemporaryFolder folder;
  const auto path = folder.write("x", bytes_of(100));
  const FileStore store(std::make_shared<FaultCalls>(CallFaults{.open_errno = EACCES}));
  EXPECT_EQ(store.open(path).error().code, ErrorCode::kNoAccess);
  EXPECT_FALSE(store.open(path).error().retryable);
}

TEST(FileStore, endless_interruptions_end_in_an_error) {
  const Watchdog watchdog("endless EINTR");
  TemporaryFolder folder;
  const auto path = folder.write("x", bytes_of(100));
  const FileStore blocked(std::make_shared<FaultCalls>(CallFaults{.open_errno = EINTR}));
  EXPECT_FALSE(blocked.open(path));
  const FileStore store(std::make_shared<FaultCalls>(CallFaults{.read_errno = EAGAIN}));
  auto object = store.open(path);
  ASSERT_TRUE(object);
  std::vector<std::byte> out(10);
  EXPECT_FALSE((*object)->read_at(0, out));
}

TEST(FileStore, descriptors_are_closed_also_after_failures) {
  TemporaryFolder folder;
  const auto path = folder.write("x", bytes_of(100));
  const auto calls = std::make_shared<FaultCalls>(CallFaults{.stat_errno = EIO});
  const FileStore store(calls);
  EXPECT_FALSE(store.open(path));
  EXPECT_EQ(calls->open_files(), 0);
  const auto good = std::make_shared<FaultCalls>(CallFaults{});
  {
    const auto object = FileStore(good).open(path);
    EXPECT_EQ(good->open_files(), 1);
  }
  EXPECT_EQ(good->open_files(), 0);
  EXPECT_FALSE(FileStore(good).open(folder.path()));
  EXPECT_EQ(good->open_files(), 0) << "a folder";
}

TEST(FileStore, a_fifo_with_the_name_of_an_image_does_not_hang) {
  const Watchdog watchdog("opening a fifo");
  TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "x.jpg").c_str(), 0600), 0);
  EXPECT_EQ(FileStore().open(folder / "x.jpg").error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(FileStore().list(folder.path())->empty());
}

TEST(FileStore, a_file_that_shrinks_while_open_is_truncated_not_a_signal) {
  TemporaryFolder folder;
  const auto path = folder.write("x", bytes_of(10'000));
  auto object = FileStore().open(path);
  ASSERT_TRUE(object);
  ASSERT_EQ(truncate(path.c_str(), 4000), 0);
  std::vector<std::byte> out(10'000);
  const auto status = (*object)->read_at(0, out);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kTruncated);
  EXPECT_NE(status.error().message.find("4000"), std::string::npos) << status.error().message;
}

TEST(FileStore, a_file_that_replaces_another_of_the_same_size_and_time_has_another_version) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.bin", other = folder / "y.bin";
  const timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  const auto write_old = [&](const std::string& name, const char* text) {
    std::ofstream(name) << text;
    ASSERT_EQ(utimensat(AT_FDCWD, name.c_str(), times, 0), 0);
  };
  const FileStore store;
  write_old(path, "one");
  const ObjectVersion first = *store.stat(path);
  EXPECT_TRUE(first.is_exactly((*store.open(path))->version()));
  write_old(other, "two");
  ASSERT_EQ(rename(other.c_str(), path.c_str()), 0);
  const ObjectVersion second = *store.stat(path);
  EXPECT_TRUE(first == second);
  EXPECT_FALSE(first.is_exactly(second));
  write_old(path, "six");  // in place, and its time set back
  EXPECT_FALSE(store.stat(path)->is_exactly(second));
}

TEST(FileStore, two_writes_at_once_have_different_versions_where_the_first_was_read) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.bin";
  const FileStore store;
  for (int i = 0; i < 5; ++i) {
    std::ofstream(path) << "one";
    auto object = store.open(path);
    std::ofstream(path) << "two";
    EXPECT_FALSE((*object)->version().is_exactly(*store.stat(path)));
  }
}

TEST(FileStore, a_recursive_listing_follows_links_but_never_in_circles) {
  const Watchdog watchdog("listing links");
  TemporaryFolder folder;
  folder.write("d/a/x", bytes_of(1));
  ASSERT_EQ(symlink("a", (folder / "d/link").c_str()), 0);
  const ListOptions recursive{.is_recursive = true};
  const auto both = FileStore().list(folder / "d", recursive);
  ASSERT_TRUE(both) << both.error().describe();
  ASSERT_EQ(both->size(), 2u);
  EXPECT_EQ((*both)[1].name, "link/x");
  ASSERT_EQ(symlink("..", (folder / "d/a/up").c_str()), 0);
  const auto circle = FileStore().list(folder / "d", recursive);
  ASSERT_FALSE(circle);
  EXPECT_EQ(circle.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(circle.error().where.uri.starts_with(folder / "d/a/up")) << circle.error().describe();
}

TEST(FileStore, dangling_links_are_listed_so_that_reading_names_them) {
  TemporaryFolder folder;
  ASSERT_EQ(symlink("/nowhere/at/all", (folder / "x.jpg").c_str()), 0);
  const auto entries = FileStore().list(folder.path());
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_FALSE(entries->front().is_folder);
  EXPECT_EQ(FileStore().open(folder / "x.jpg").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace penstock
