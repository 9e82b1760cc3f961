#include "source/index/file_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <latch>

#include "base/crc32c.h"
#include "base/random.h"
#include "store/memory_store.h"
#include "support/fault_store.h"
#include "support/watchdog.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

MemoryStore store_with(const std::vector<std::string>& names) {
  MemoryStore store;
  for (const std::string& name : names) store.put("root/" + name, std::vector<std::byte>(name.size()));
  return store;
}

std::vector<std::string> paths_of(const FileIndex& index) {
  std::vector<std::string> paths;
  for (const auto& file : index.files) paths.push_back(index.relative_path(file));
  return paths;
}

TEST(ScanFolder, finds_images_sorted_by_folder_then_name_and_leaves_out_hidden_ones) {
  const MemoryStore store = store_with({"b/2.JPG", "b/10.jpeg", "a/x.png", "a-1/y.webp", ".hidden/z.jpg",
                                        "a/.z.jpg", "a/notes.txt", "top.png"});
  const auto index = scan_folder(store, "root", "", {});
  ASSERT_TRUE(index) << index.error().describe();
  EXPECT_EQ(paths_of(*index),
            (std::vector<std::string>{"top.png", "a/x.png", "a-1/y.webp", "b/10.jpeg", "b/2.JPG"}));
  EXPECT_EQ(index->files[1].size, 7u);
  EXPECT_FALSE(index->was_saved);
}

TEST(ScanFolder, counts_what_it_leaves_out_by_ending) {
  const MemoryStore store = store_with({"a/x.png", "a/notes.txt", "b/more.TXT", "b/y.tif", "LICENSE", ".hidden",
                                        "__MACOSX/z.png", "__MACOSX/z.txt"});
  const auto index = scan_folder(store, "root", "", {});
  ASSERT_TRUE(index) << index.error().describe();
  EXPECT_EQ(paths_of(*index), (std::vector<std::string>{"a/x.png", "b/y.tif"}));
  const std::map<std::string, std::uint64_t> expected = {{"", 1}, {"txt", 2}};
  EXPECT_EQ(index->left_out.by_ending, expected);
  EXPECT_EQ(index->left_out.count(), 3u);
  EXPECT_EQ(index->left_out.describe(), "3 files were left out: .txt (2), no ending (1); for example LICENSE");
  const auto again = parse_index(serialise_index(*index, "root"), "root");
  ASSERT_TRUE(again) << again.error().describe();
  EXPECT_EQ(again->left_out.by_ending, expected);
  EXPECT_EQ(again->left_out.example, "LICENSE");
}

TEST(ScanFolder, tells_the_number_of_files_while_it_still_looks) {
  const Watchdog watchdog("looking for files");
  WatchedStore store;
  for (const char* name : {"root/1.png", "root/2.png", "root/slow/3.png"}) store.put(name, "pixels");
  std::latch was_told(1);
  store.before_list = [&](const std::string& key) {
    if (key == "root/slow") was_told.wait();
  };
  std::vector<std::uint64_t> told;
  const auto index = scan_folder(store, "root", "", {.progress = [&](std::uint64_t files) {
                                   told.push_back(files);
                                   if (told.size() == 1) was_told.count_down();
                                   return true;
                                 }});
  ASSERT_TRUE(index) << index.error().describe();
  EXPECT_EQ(index->files.size(), 3u);
  EXPECT_FALSE(told.empty());
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_LE(told.back(), 3u);
}

TEST(ScanFolder, stops_when_progress_says_so) {
  const Watchdog watchdog("looking for files");
  WatchedStore store;
  store.put("root/1.png", "pixels");
  std::latch was_told(1);
  store.before_list = [&](const std::string&) { was_told.wait(); };
  const auto index = scan_folder(store, "root", "", {.progress = [&](std::uint64_t) {
                                   was_told.count_down();
                                   return false;
                                 }});
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().code, ErrorCode::kStopped);
}

TEST(SavedIndex, another_version_is_no_damage) {
  const auto index = scan_folder(store_with({"x.png"}), "root", "", {});
  auto bytes = serialise_index(*index, "root");
  bytes[7] = std::byte{'1'};
  EXPECT_EQ(parse_index(bytes, "root").error().code, ErrorCode::kCorrupt) << "the checksum no longer fits";
  const std::uint32_t checksum = crc32c(ConstBytes(bytes).first(bytes.size() - 4));
  std::memcpy(bytes.data() + bytes.size() - 4, &checksum, sizeof checksum);
  EXPECT_EQ(parse_index(bytes, "root").error().code, ErrorCode::kUnsupported);
}

TEST(ScanFolder, a_folder_without_images_says_what_is_there) {
  const auto index = scan_folder(store_with({"a.txt", "b.txt", "c.csv"}), "root", "", {});
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().code, ErrorCode::kNotFound);
  EXPECT_NE(index.error().message.find("2 .txt"), std::string::npos) << index.error().message;
  EXPECT_EQ(index.error().where.uri, "root");
}

TEST(ScanFolder, both_kinds_need_a_word_from_the_user) {
  const MemoryStore store = store_with({"a.jpg", "b.npy"});
  EXPECT_EQ(scan_folder(store, "root", "", {}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(paths_of(*scan_folder(store, "root", "npy", {})), (std::vector<std::string>{"b.npy"}));
  EXPECT_EQ(paths_of(*scan_folder(store, "root", "images", {})), (std::vector<std::string>{"a.jpg"}));
}

TEST(ScanFolder, endless_nesting_ends) {
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "d/";
  EXPECT_EQ(scan_folder(store_with({deep + "x.jpg"}), "root", "", {}).error().code, ErrorCode::kTooLarge);
}

TEST(ScanFolder, every_failing_operation_ends_in_an_error_or_a_whole_index) {
  const Watchdog watchdog("scanning with faults");
  const auto clean =
      std::make_shared<MemoryStore>(store_with({"a/1.jpg", "a/2.jpg", "b/3.jpg", "b/c/4.jpg"}));
  const FaultStore counter(clean, {});
  ASSERT_TRUE(scan_folder(counter, "root", "", {}));
  for (std::uint64_t k = 1; k <= counter.operations(); ++k)
    for (const bool persistent : {false, true}) {
      const FaultStore store(clean, {k, persistent, Fault::kEio});
      const auto index = scan_folder(store, "root", "", {});
      if (index) {
        EXPECT_EQ(index->files.size(), 4u) << k;
      } else {
        EXPECT_FALSE(index.error().where.uri.empty());
      }
    }
}

FileIndex small_index() {
  return *scan_folder(store_with({"a/1.jpg", "b/22.jpg", "b/c/333.jpg"}), "root", "", {});
}

TEST(SavedIndex, goes_to_bytes_and_back) {
  FileIndex index = small_index();
  index.files[0].modified_ns = -5;
  const auto bytes = serialise_index(index, "root");
  const auto back = parse_index(bytes, "root");
  ASSERT_TRUE(back) << back.error().describe();
  EXPECT_EQ(paths_of(*back), paths_of(index));
  EXPECT_EQ(back->files[0].modified_ns, -5);
  EXPECT_TRUE(back->was_saved);
  EXPECT_FALSE(parse_index(bytes, "elsewhere")) << "an index of another folder";
}

TEST(SavedIndex, every_cut_and_every_flipped_bit_is_noticed) {
  const auto whole = serialise_index(small_index(), "root");
  for (std::size_t size = 0; size < whole.size(); ++size)
    ASSERT_FALSE(parse_index(ConstBytes(whole).first(size), "root")) << size;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    auto bytes = whole;
    bytes[bit / 8] ^= std::byte(1u << bit % 8);
    ASSERT_FALSE(parse_index(bytes, "root")) << bit;
  }
}

TEST(SavedIndex, lies_with_a_right_checksum_are_refused_or_harmless) {
  const auto whole = serialise_index(small_index(), "root");
  Draws draws(3, 0, 0);
  for (int i = 0; i < 20'000; ++i) {
    auto bytes = whole;
    for (std::uint64_t n = 1 + draws.below(4); n > 0; --n)
      bytes[8 + draws.below(bytes.size() - 12)] = std::byte(draws.chance(0.5) ? 0xFF : draws.below(256));
    const std::uint32_t sum = crc32c(ConstBytes(bytes).first(bytes.size() - 4));
    std::memcpy(bytes.data() + bytes.size() - 4, &sum, 4);
    const auto index = parse_index(bytes, "root");
    if (!index) continue;
    for (const auto& file : index->files) (void)index->relative_path(file);
  }
}

TEST(SavedIndex, fits_while_no_folder_changed) {
  const MemoryStore store = store_with({"a/1.jpg"});
  FileIndex index = *scan_folder(store, "root", "", {});
  EXPECT_TRUE(index_fits(store, "root", index));
  index.folders[1].modified_ns = 7;
  EXPECT_FALSE(index_fits(store, "root", index));
  index.folders[1] = {"gone", 0};
  EXPECT_FALSE(index_fits(store, "root", index));
}

}  // namespace
}  // namespace penstock
