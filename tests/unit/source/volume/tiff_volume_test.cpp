#include "source/volume/tiff_volume.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "decode/npy.h"
#include "store/memory_store.h"
#include "support/make_tiff.h"
#include "support/read_chunked.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> file_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

fs::path golden(const std::string& name) { return fs::path(PENSTOCK_GOLDEN_DIR) / "tiff" / name; }

Result<ChunkedArrayPtr> open_bytes(std::vector<std::byte> bytes) {
  auto store = std::make_shared<MemoryStore>();
  store->put("v.tif", std::move(bytes));
  return open_tiff_volume(std::move(store), "v.tif", {"v.tif"});
}

struct Expected {
  ArraySpec spec;
  std::vector<std::byte> bytes;
};

Expected expected_of(const std::string& array) {
  const auto npy = file_bytes(golden(array + ".npy"));
  const auto header = *parse_npy_header(npy, {});
  return {header.array, {npy.begin() + static_cast<std::ptrdiff_t>(header.data_offset), npy.end()}};
}

// All golden files that have the elements of a .npy file.
std::vector<std::string> golden_names(const std::string& containing = "") {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(golden("")))
    if (const std::string name = entry.path().filename(); name.ends_with(".tif") && name.contains('-'))
      if (name.contains(containing)) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

TEST(TiffVolume, has_the_elements_that_tifffile_wrote) {
  const auto names = golden_names();
  EXPECT_GT(names.size(), 50u);
  for (const std::string& name : names) {
    const Expected expected = expected_of(name.substr(0, name.find('-')));
    const auto array = open_bytes(file_bytes(golden(name)));
    ASSERT_TRUE(array) << name << ": " << array.error().describe();
    EXPECT_EQ((*array)->spec(), expected.spec) << name;
    const auto got = read_whole(**array);
    ASSERT_TRUE(got) << name << ": " << got.error().describe();
    EXPECT_EQ(*got, expected.bytes) << name;
    EXPECT_EQ((*array)->is_plain(),
              name.contains("-none-") || name.contains("imagej") || name.contains("described"))
        << name;
  }
}

TEST(TiffVolume, single_pages_of_several_files_follow_each_other) {
  auto store = std::make_shared<MemoryStore>();
  store->put("a/0.tif", file_bytes(golden("plane_0.tif")));
  store->put("a/1.tif", file_bytes(golden("plane_1.tif")));
  store->put("a/2.tif", file_bytes(golden("rgb.npy")));
  const auto array = open_tiff_volume(store, "a", {"a/0.tif", "a/1.tif"});
  ASSERT_TRUE(array) << array.error().describe();
  EXPECT_EQ(*read_whole(**array), expected_of("uint16").bytes);
  EXPECT_EQ((*array)->location(1)->read.key, "a/1.tif");

  const auto no_tiff = open_tiff_volume(store, "a", {"a/0.tif", "a/2.tif"});
  EXPECT_EQ(no_tiff.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(no_tiff.error().where.uri, "a/2.tif");
  EXPECT_EQ(open_tiff_volume(store, "a", {"a/0.tif", "a/9.tif"}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(open_tiff_volume(store, "a", {}).error().code, ErrorCode::kNotFound);

  auto other = std::make_shared<MemoryStore>();
  other->put("0.tif", file_bytes(golden("plane_0.tif")));
  TiffMaker maker;
  const auto data = maker.add_data(12);
  maker.add_page(small_page(data));
  other->put("1.tif", maker.file());
  const auto differs = open_tiff_volume(other, "*.tif", {"0.tif", "1.tif"});
  EXPECT_EQ(differs.error().code, ErrorCode::kShapeMismatch);
  EXPECT_EQ(differs.error().where.uri, "1.tif");
}

TEST(TiffVolume, strips_that_stand_together_become_stretches_of_a_quarter_mebibyte) {
  // 2 pages of 1000 rows of 1000 uint16, one strip per row.
  TiffMaker maker;
  const auto first = maker.add_data(2 * 2'000'000);
  for (const std::uint64_t page : {0, 1}) {
    TiffTags tags = small_page(0);
    tags[256] = tags[257] = {4, {1000}};
    tags[258] = {3, {16}};
    tags[278] = {4, {1}};
    tags[273].values.clear();
    tags[279].values.assign(1000, 2000);
    for (std::uint64_t row = 0; row < 1000; ++row)
      tags[273].values.push_back(first + page * 2'000'000 + row * 2000);
    maker.add_page(tags);
  }
  const auto array = open_bytes(maker.file());
  ASSERT_TRUE(array) << array.error().describe();
  EXPECT_EQ((*array)->chunk_shape(), (Shape{1, 131, 1000}));
  EXPECT_EQ((*array)->grid(), (Shape{2, 8, 1}));
  EXPECT_EQ((*array)->chunk_bytes(7), 83u * 2000);
  EXPECT_EQ((*array)->chunk_strides(7), (Shape{83 * 2000, 2000, 2}));
  EXPECT_EQ((*array)->location(9)->read.range, (ByteRange{first + 2'000'000 + 131 * 2000, 131 * 2000}));
  EXPECT_TRUE((*array)->is_plain());
}

TEST(TiffVolume, strips_apart_are_read_one_by_one_and_sparse_ones_are_zeros) {
  TiffMaker maker;
  const auto data = maker.add_data({std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{9},
                                    std::byte{5}, std::byte{6}, std::byte{7}, std::byte{8}});
  TiffTags tags = small_page(data);
  tags[278] = {4, {1}};
  tags[273] = {4, {data, 0, data + 5}};
  tags[279] = {4, {4, 0, 4}};
  maker.add_page(tags);
  const auto array = open_bytes(maker.file());
  ASSERT_TRUE(array) << array.error().describe();
  EXPECT_EQ((*array)->chunk_shape(), (Shape{1, 1, 4}));
  EXPECT_TRUE((*array)->location(1)->is_missing);
  const auto whole = read_whole(**array);
  ASSERT_TRUE(whole);
  const std::vector<int> expected = {1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8};
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(std::to_integer<int>((*whole)[i]), expected[i]);
  std::vector<std::byte> out(4);
  EXPECT_EQ((*array)->fill_missing(0, out).error().code, ErrorCode::kNotFound) << "that one must be there";
}

TEST(TiffVolume, damage_in_a_strip_is_an_error_with_its_place) {
  for (const std::string& name : golden_names("adobe")) {
    auto bytes = file_bytes(golden(name));
    const auto array = *open_bytes(bytes);
    const auto place = array->location(1)->read;
    bytes[place.range.offset + place.range.length / 2] ^= std::byte{16};
    const auto chunk = read_chunk(**open_bytes(bytes), 1);
    ASSERT_FALSE(chunk) << name;
    EXPECT_EQ(chunk.error().code, ErrorCode::kCorrupt) << chunk.error().describe();
    EXPECT_EQ(chunk.error().where.uri, "v.tif");
    EXPECT_EQ(chunk.error().where.offset, static_cast<std::int64_t>(place.range.offset));
  }
}

TEST(TiffVolume, a_file_that_changed_is_noticed) {
  auto store = std::make_shared<MemoryStore>();
  auto bytes = file_bytes(golden("uint16-imagej.tif"));
  store->put("v.tif", bytes);
  const auto array = *open_tiff_volume(store, "v.tif", {"v.tif"});
  bytes.push_back({});
  store->put("v.tif", bytes);
  EXPECT_EQ(read_chunk(*array, 0).error().code, ErrorCode::kChanged);
}

// A file that opens has all elements of the whole file, because the bytes that were cut off were not needed.
TEST(TiffVolume, files_cut_anywhere_are_errors_or_whole) {
  for (const std::string& name : golden_names()) {
    const auto bytes = file_bytes(golden(name));
    const Expected expected = expected_of(name.substr(0, name.find('-')));
    const std::size_t step = bytes.size() < 3000 ? 1 : 17;
    for (std::size_t size = 0; size < bytes.size(); size += step) {
      const auto array = open_bytes({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
      if (!array) {
        EXPECT_EQ(array.error().where.uri, "v.tif") << array.error().describe();
        continue;
      }
      const auto got = read_whole(**array);
      EXPECT_TRUE(!got || *got == expected.bytes) << name << " cut at " << size;
    }
  }
}

TEST(TiffVolume, flipped_bits_never_do_more_than_change_elements) {
  for (const char* kind : {"-none-1-tiles", "-lzw-", "-packbits-", "-zstd-", "imagej"}) {
    const std::string name = golden_names(kind).front();
    const auto bytes = file_bytes(golden(name));
    for (std::size_t bit = 0; bit < bytes.size() * 8; bit += bit < 4000 ? 1 : 13) {
      auto flipped = bytes;
      flipped[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      const auto array = open_bytes(std::move(flipped));
      if (!array) continue;
      const ArraySpec& spec = (*array)->spec();
      if (spec.bytes() > 1 << 20) continue;
      (void)read_whole(**array);
    }
  }
}

}  // namespace
}  // namespace penstock
