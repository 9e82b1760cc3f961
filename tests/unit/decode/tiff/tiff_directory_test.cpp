#include "decode/tiff/tiff_directory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "store/memory_store.h"
#include "support/make_tiff.h"
#include "support/text_bytes.h"

namespace penstock {
namespace {

Result<TiffDirectories> read(const std::vector<std::byte>& bytes) {
  MemoryStore store;
  store.put("a.tif", bytes);
  const auto object = store.open("a.tif");
  auto directories = read_tiff_directories(**object, "a.tif");
  EXPECT_TRUE(directories || directories.error().where.uri == "a.tif") << directories.error().describe();
  return directories;
}

// One small page, after somebody changed its tags.
Result<TiffDirectories> read_changed(const std::function<void(TiffTags&)>& change) {
  TiffMaker maker;
  TiffTags tags = small_page(maker.add_data(64));
  change(tags);
  maker.add_page(tags);
  return read(maker.file());
}

ErrorCode code_of(const std::function<void(TiffTags&)>& change) {
  const auto directories = read_changed(change);
  EXPECT_FALSE(directories);
  return directories ? ErrorCode::kStopped : directories.error().code;
}

std::string message_of(const std::function<void(TiffTags&)>& change) {
  const auto directories = read_changed(change);
  EXPECT_FALSE(directories);
  return directories ? "" : directories.error().message;
}

TEST(TiffDirectories, both_byte_orders_and_both_widths_are_read) {
  for (const bool big_endian : {false, true})
    for (const bool wide : {false, true}) {
      TiffMaker maker(big_endian, wide);
      const auto first = maker.add_data(12), second = maker.add_data(12);
      maker.add_page(small_page(first));
      maker.add_page(small_page(second));
      const auto directories = read(maker.file());
      ASSERT_TRUE(directories) << directories.error().describe();
      EXPECT_EQ(directories->pages, 2u);
      const TiffLayout& layout = directories->layout;
      EXPECT_EQ(layout.width, 4u);
      EXPECT_EQ(layout.height, 3u);
      EXPECT_EQ(layout.segment_rows, 3u);
      EXPECT_EQ(layout.dtype, DType::kUInt8);
      EXPECT_EQ(layout.big_endian, big_endian);
      EXPECT_EQ(directories->segments[1].offset, second);
      EXPECT_EQ(directories->segments[1].bytes, 12u);
    }
}

TEST(TiffDirectories, defaults_are_those_of_the_format) {
  const auto directories = read_changed([](TiffTags& tags) {
    for (const int tag : {259, 262, 277, 278}) tags.erase(static_cast<std::uint16_t>(tag));
  });
  ASSERT_TRUE(directories) << directories.error().describe();
  EXPECT_EQ(directories->layout.segment_rows, 3u) << "one strip";
  EXPECT_EQ(directories->layout.compression, TiffCompression::kNone);
  EXPECT_EQ(message_of([](TiffTags& tags) { tags.erase(258); }), "a bilevel TIFF (1 bit a sample)");
}

TEST(TiffDirectories, what_is_valid_and_not_read_says_what_it_is) {
  const struct {
    std::uint16_t tag;
    std::vector<std::uint64_t> values;
    const char* message;
  } rows[] = {
      {262, {3}, "palette"},
      {262, {6}, "YCbCr"},
      {258, {1}, "bilevel"},
      {258, {12}, "12 bits"},
      {258, {128}, "128 bits"},
      {259, {7}, "JPEG"},
      {259, {34712}, "JPEG 2000"},
      {259, {4}, "CCITT"},
      {259, {12345}, "unknown"},
      {266, {2}, "fill order"},
      {317, {2}, "predictor 2"},
      {339, {5}, "format 5"},
      {339, {3}, "8 bits a sample of format 3"},
  };
  for (const auto& row : rows) {
    const auto directories = read_changed([&](TiffTags& tags) { tags[row.tag] = {3, row.values}; });
    ASSERT_FALSE(directories) << row.message;
    EXPECT_EQ(directories.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(directories.error().message.find(row.message), std::string::npos)
        << directories.error().message;
  }
  EXPECT_NE(message_of([](TiffTags& tags) {
              tags[277] = {3, {3}};
              tags[284] = {3, {2}};
              tags[258] = {3, {8, 8, 8}};
            }).find("stored apart"),
            std::string::npos);
  EXPECT_NE(message_of([](TiffTags& tags) {
              tags[277] = {3, {3}};
              tags[258] = {3, {8, 8, 16}};
            }).find("different types"),
            std::string::npos);
  const auto predictor = [](std::uint64_t bits, std::uint64_t format, std::uint64_t number) {
    return [=](TiffTags& tags) {
      tags[258] = {3, {bits}};
      tags[339] = {3, {format}};
      tags[259] = {3, {5}};
      tags[317] = {3, {number}};
    };
  };
  EXPECT_TRUE(read_changed(predictor(16, 3, 3)));
  EXPECT_TRUE(read_changed(predictor(16, 1, 2)));
  EXPECT_EQ(code_of(predictor(16, 1, 3)), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of(predictor(16, 1, 4)), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of(predictor(16, 1, 0)), ErrorCode::kUnsupported);
}

TEST(TiffDirectories, numbers_that_cannot_be_are_refused) {
  const auto with = [](std::uint16_t tag, std::vector<std::uint64_t> values) {
    return [=](TiffTags& tags) { tags[tag] = {4, values}; };
  };
  EXPECT_EQ(code_of(with(256, {0})), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(with(257, {0})), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(with(278, {0})), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(with(277, {0})), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(with(277, {70'000})), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(with(256, {})), ErrorCode::kCorrupt) << "no value";
  EXPECT_EQ(code_of([](TiffTags& tags) { tags.erase(256); }), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of([](TiffTags& tags) { tags.erase(273); }), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of([](TiffTags& tags) { tags.erase(279); }), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of([](TiffTags& tags) { tags[256].type = 5; }), ErrorCode::kCorrupt) << "a fraction";
  EXPECT_EQ(code_of([](TiffTags& tags) { tags[256].type = 99; }), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of([](TiffTags& tags) { tags[322] = {4, {0}}; }), ErrorCode::kCorrupt)
      << "a tile of no width";
  const auto large = [](TiffTags& tags) { tags[257] = tags[278] = {4, {4'000'000'000}}; };
  EXPECT_EQ(code_of(large), ErrorCode::kTruncated) << "more than is stored";
  EXPECT_EQ(code_of([&](TiffTags& tags) {
              large(tags);
              tags[256] = {4, {4'000'000'000}};
              tags[277] = {4, {65'535}};
              tags[258] = {3, {64}};
              tags[279] = {4, {0}};
            }),
            ErrorCode::kTooLarge);
}

TEST(TiffDirectories, strips_must_be_as_many_and_as_long_as_they_can_be) {
  const auto data = read_changed([](TiffTags&) {})->segments[0].offset;
  const auto strips = [=](std::vector<std::uint64_t> offsets, std::vector<std::uint64_t> bytes) {
    return [=](TiffTags& tags) {
      tags[278] = {4, {2}};  // 8 bytes, then 4
      tags[273] = {4, offsets};
      tags[279] = {4, bytes};
    };
  };
  EXPECT_TRUE(read_changed(strips({data, data + 8}, {8, 4})));
  EXPECT_TRUE(read_changed(strips({data, data + 8}, {8, 8}))) << "the last one padded";
  EXPECT_TRUE(read_changed(strips({data, 0}, {8, 0}))) << "sparse";
  EXPECT_EQ(code_of(strips({data}, {8})), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(strips({data, data, data}, {8, 4, 4})), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(strips({data, data + 8}, {8})), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(strips({data, data + 8}, {8, 3})), ErrorCode::kTruncated);
  EXPECT_EQ(code_of(strips({data, data + 8}, {8, 9})), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(strips({7, data + 8}, {8, 4})), ErrorCode::kCorrupt) << "in the header";
  EXPECT_EQ(code_of(strips({data, 4'000'000'000}, {8, 4})), ErrorCode::kTruncated);
  const auto beyond = read_changed(strips({data, 4'000'000'000}, {8, 4}));
  EXPECT_EQ(beyond.error().where.offset, 4'000'000'000);
  EXPECT_EQ(beyond.error().where.length, 4);
  EXPECT_EQ(code_of([=](TiffTags& tags) {
              strips({data, data}, {60'000, 4})(tags);
              tags[259] = {3, {5}};
            }),
            ErrorCode::kTruncated);
}

TEST(TiffDirectories, pages_must_agree_and_reduced_ones_are_passed_over) {
  TiffMaker maker;
  const auto data = maker.add_data(64);
  maker.add_page(small_page(data));
  TiffTags thumbnail = small_page(data);
  thumbnail[254] = {4, {1}};
  thumbnail[256] = {4, {2}};
  thumbnail[258] = {3, {1}};
  maker.add_page(thumbnail);
  maker.add_page(small_page(data));
  ASSERT_TRUE(read(maker.file())) << read(maker.file()).error().describe();
  EXPECT_EQ(read(maker.file())->pages, 2u);
  TiffTags other = small_page(data);
  other[256] = {4, {3}};
  const auto place = maker.add_page(other);
  const auto differs = read(maker.file());
  ASSERT_FALSE(differs);
  EXPECT_EQ(differs.error().where.offset, static_cast<std::int64_t>(place));
  EXPECT_NE(differs.error().message.find("page 2 differs"), std::string::npos);

  TiffMaker only;
  thumbnail[273] = {4, {only.add_data(12)}};
  only.add_page(thumbnail);
  EXPECT_EQ(read(only.file()).error().code, ErrorCode::kNotFound);
}

TEST(TiffDirectories, loops_and_places_beyond_the_file_are_refused) {
  TiffMaker maker;
  const auto data = maker.add_data(12);
  const auto first = maker.add_page(small_page(data));
  maker.add_page(small_page(data));
  maker.lead_to(first);
  const auto loop = read(maker.file());
  ASSERT_FALSE(loop);
  EXPECT_NE(loop.error().message.find("loop"), std::string::npos);
  for (const std::uint64_t place : {maker.file().size(), maker.file().size() - 1, std::size_t{0xfffffff0}}) {
    maker.lead_to(place);
    EXPECT_EQ(read(maker.file()).error().code, ErrorCode::kTruncated) << place;
  }
}

TEST(TiffDirectories, tables_that_many_pages_share_are_refused) {
  // A table of 1000 strips, and pages that all say it is theirs: a few bytes each, 16 KB to keep.
  TiffMaker maker;
  const auto data = maker.add_data(4 * 1000);
  TiffTags tags = small_page(data);
  tags[257] = {4, {1000}};
  tags[278] = {4, {1}};
  tags[273].values.clear();
  tags[279].values.assign(1000, 4);
  for (std::uint64_t i = 0; i < 1000; ++i) tags[273].values.push_back(data + i * 4);
  const auto first = maker.add_page(tags);
  auto file = maker.file();
  const std::size_t length = 2 + 9 * 12 + 4;
  for (int i = 0; i < 30; ++i) {
    const std::uint32_t next = static_cast<std::uint32_t>(file.size());
    std::memcpy(file.data() + file.size() - 4, &next, 4);
    const std::vector<std::byte> copy(file.begin() + static_cast<std::ptrdiff_t>(first),
                                      file.begin() + static_cast<std::ptrdiff_t>(first + length));
    file.insert(file.end(), copy.begin(), copy.end());
    std::memset(file.data() + file.size() - 4, 0, 4);
  }
  const auto shared = read(file);
  ASSERT_FALSE(shared);
  EXPECT_NE(shared.error().message.find("longer than the file"), std::string::npos) << shared.error().message;
}

TEST(TiffDirectories, counts_that_no_table_backs_take_no_memory) {
  for (const std::uint16_t type : {3, 4, 99}) {
    const auto huge = [&](TiffTags& tags) {
      tags[256] = {4, {0x7fffffff}};
      tags[257] = {4, {0x7fffffff}};
      tags[322] = tags[323] = {4, {16}};
      tags[324] = tags[325] = {type, {1}, "", 0x7fffffff};
    };
    EXPECT_EQ(code_of(huge), ErrorCode::kCorrupt);
    const auto strips = [&](TiffTags& tags) {
      tags[257] = {4, {1 << 24}};
      tags[278] = {4, {1}};
      tags[273] = tags[279] = {type, {1}, "", 1 << 24};
    };
    EXPECT_EQ(code_of(strips), ErrorCode::kCorrupt);
  }
}

TEST(TiffDirectories, a_tag_that_stands_twice_is_refused) {
  TiffMaker maker;
  const auto at = maker.add_page(small_page(maker.add_data(12)));
  auto file = maker.file();
  std::memcpy(file.data() + at + 2 + 12, file.data() + at + 2, 2);
  EXPECT_NE(read(file).error().message.find("twice"), std::string::npos);
}

TEST(TiffDirectories, stacks_of_imagej_have_one_directory) {
  const auto stack = [](const std::string& description, std::size_t data_bytes) {
    TiffMaker maker;
    TiffTags tags = small_page(0);
    tags[270] = {2, {}, description};
    // The data stand behind the directory, whose length does not depend on where.
    TiffMaker before;
    before.add_page(tags);
    tags[273] = {4, {before.file().size()}};
    maker.add_page(tags);
    maker.add_data(data_bytes);
    return maker.file();
  };
  const auto whole = read(stack("ImageJ=1.53\nimages=5\nslices=5\n", 60));
  ASSERT_TRUE(whole) << whole.error().describe();
  EXPECT_EQ(whole->pages, 5u);
  EXPECT_EQ(whole->segments[4].offset, whole->segments[0].offset + 48);
  EXPECT_EQ(read(stack("ImageJ=1.53\nimages=5\n", 59)).error().code, ErrorCode::kTruncated);
  EXPECT_EQ(read(stack("ImageJ=1.53\nimages=99999999999999999\n", 60)).error().code, ErrorCode::kTruncated);
  EXPECT_EQ(read(stack("ImageJ=1.53\n", 60))->pages, 1u);
  EXPECT_EQ(read(stack("images=5\n", 60))->pages, 1u);
  EXPECT_EQ(read(stack("{\"shape\": [5, 3, 4], \"truncated\": true}", 60)).error().code,
            ErrorCode::kUnsupported);
}

TEST(TiffDirectories, what_is_no_tiff_is_refused) {
  EXPECT_EQ(read({}).error().code, ErrorCode::kTruncated);
  EXPECT_EQ(read(bytes_of("II*")).error().code, ErrorCode::kTruncated);
  EXPECT_EQ(read(bytes_of("\x89PNG\r\n\x1a\n....")).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(read(bytes_of("IM*.....")).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(read(bytes_of({"II*\0\0\0\0\0", 8})).error().code, ErrorCode::kNotFound) << "no pages";
  EXPECT_EQ(read(bytes_of({"II+\0\7\0\0\0\0\0\0\0\0\0\0\0", 16})).error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace penstock
