#include "source/mds/mds_encoding.h"

#include <gtest/gtest.h>

#include <cstring>

#include "source/mds/mds_fields.h"
#include "support/text_bytes.h"

namespace penstock {
namespace {

using Form = MdsEncoding::Form;

std::vector<std::byte> raw(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// Keeps what values allocate.
struct Memory {
  std::vector<std::byte> bytes;
  Source::Allocate allocate = [this](std::size_t size) -> Result<std::span<std::byte>> {
    bytes.resize(size);
    return bytes;
  };
};

Result<RecordValue> read(std::string_view encoding, const std::vector<std::byte>& stored, Memory& memory) {
  const auto parsed = parse_mds_encoding(encoding);
  if (!parsed) return std::unexpected(parsed.error());
  return read_mds_value(*parsed, stored, memory.allocate);
}

TEST(MdsEncoding, arrays_have_their_type_and_shape_in_the_encoding_or_in_the_value) {
  Memory memory;
  const auto fixed = read("ndarray:int16:2,1", raw({1, 0, 2, 0}), memory);
  ASSERT_TRUE(fixed) << fixed.error().describe();
  EXPECT_EQ(*fixed->elements, (ArraySpec{DType::kInt16, {2, 1}}));
  const auto typed = read("ndarray:uint8", raw({1 << 2 | 0, 3, 7, 8, 9}), memory);
  ASSERT_TRUE(typed);
  EXPECT_EQ(*typed->elements, (ArraySpec{DType::kUInt8, {3}}));
  const auto free = read("ndarray", raw({8, 2 << 2 | 1, 1, 0, 2, 0, 5, 6}), memory);
  ASSERT_TRUE(free);
  EXPECT_EQ(*free->elements, (ArraySpec{DType::kUInt8, {1, 2}}));
  EXPECT_EQ(free->bytes.size(), 2u);
}

TEST(MdsEncoding, arrays_whose_bytes_do_not_fit_are_corrupt) {
  Memory memory;
  EXPECT_FALSE(read("ndarray:int16:2,1", raw({1, 0, 2}), memory));
  EXPECT_FALSE(read("ndarray:uint8", raw({1 << 2, 3, 7}), memory));
  EXPECT_FALSE(read("ndarray", raw({7, 1 << 2, 1, 0}), memory));                     // no such type
  EXPECT_FALSE(read("ndarray", raw({8}), memory));                                   // no shape
  EXPECT_FALSE(read("ndarray", raw({8, 63 << 2, 1, 1}), memory));                    // dimensions
  EXPECT_FALSE(read("ndarray", raw({66, 2 << 2 | 2, 255, 255, 255, 255, 255, 255, 255, 255}), memory));  // overflow
  for (const char* encoding : {"ndarray:", "ndarray:complex64", "ndarray:uint8:", "ndarray:uint8:0", "ndarray:uint8:1,,2",
                               "ndarray:uint8:1,2,", "ndarray:uint8:1,1,1,1,1,1,1,1,1"})
    EXPECT_FALSE(parse_mds_encoding(encoding)) << encoding;
}

TEST(MdsEncoding, integers_are_widened_and_other_numbers_keep_their_type) {
  Memory memory;
  const auto number = read("int8", raw({0xFE}), memory);
  ASSERT_TRUE(number);
  EXPECT_EQ(*number->elements, (ArraySpec{DType::kInt64, {}}));
  std::int64_t value = 0;
  std::memcpy(&value, number->bytes.data(), 8);
  EXPECT_EQ(value, -2);
  const auto real = read("float16", raw({0, 0x3C}), memory);
  ASSERT_TRUE(real);
  EXPECT_EQ(*real->elements, (ArraySpec{DType::kFloat16, {}}));
  EXPECT_FALSE(read("int", raw({1, 2, 3}), memory));
  EXPECT_FALSE(read("str_float", raw({'1', ' '}), memory));
  EXPECT_FALSE(read("str_int", raw({'x'}), memory));
}

TEST(MdsEncoding, pickles_and_unknown_encodings_are_refused) {
  for (const char* encoding : {"pkl", "mp4", ""}) EXPECT_EQ(parse_mds_encoding(encoding)->form, Form::kRefused);
}

TEST(MdsEncoding, a_list_of_images_gives_each_of_them) {
  Memory memory;
  const auto array = *parse_mds_encoding("jpeg_array"), list = *parse_mds_encoding("list[png]");
  const auto stored = raw({2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 'a', 'b', 'c'});
  std::vector<std::byte> in_list = raw({0, 0, 0, 0});
  in_list.insert(in_list.end(), stored.begin(), stored.end());
  for (const auto& [encoding, bytes] : {std::pair(array, stored), std::pair(list, in_list)}) {
    EXPECT_EQ(*count_mds_images(encoding, bytes), 2u);
    EXPECT_EQ(read_mds_image(encoding, bytes, 1, memory.allocate)->bytes.size(), 2u);
    EXPECT_EQ(read_mds_image(encoding, bytes, 2, memory.allocate).error().code, ErrorCode::kNotFound);
  }
  EXPECT_FALSE(count_mds_images(array, raw({2, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 'a', 'b', 'c'})));
  EXPECT_FALSE(count_mds_images(array, raw({255, 255, 255, 255, 1, 0, 0, 0})));
  EXPECT_FALSE(count_mds_images(list, raw({0, 0})));
}

TEST(MdsEncoding, images_of_pillow_become_files_unless_their_mode_is_not_read) {
  Memory memory;
  const auto rgb = read("pil", raw({1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 'R', 'G', 'B', 9, 8, 7}), memory);
  ASSERT_TRUE(rgb) << rgb.error().describe();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(rgb->bytes.data()), rgb->bytes.size()), "P6\n1 1\n255\n\x09\x08\x07");
  EXPECT_FALSE(read("pil", raw({1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 'R', 'G', 'B', 9, 8}), memory));
  EXPECT_FALSE(read("pil", raw({1, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 'C', 'M', 'Y', 'K', 9, 8, 7, 6}), memory));
  EXPECT_FALSE(read("pil", raw({0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 'L'}), memory));
  EXPECT_FALSE(read("pil", raw({255, 255, 255, 255, 255, 255, 255, 255, 1, 0, 0, 0, 'L'}), memory));
  EXPECT_FALSE(read("pil", raw({1, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 255, 'L'}), memory));
  EXPECT_FALSE(read("pil", raw({1, 0, 0}), memory));
}

TEST(MdsSample, columns_follow_the_sizes_of_those_that_vary) {
  const std::vector<MdsColumn> columns = {{"a", "str", 0}, {"b", "uint8", 1}, {"c", "str", 0}};
  const auto sample = raw({2, 0, 0, 0, 1, 0, 0, 0, 'x', 'y', 7, 'z'});
  EXPECT_EQ(find_mds_column(columns, 0, sample)->size(), 2u);
  EXPECT_EQ(find_mds_column(columns, 1, sample)->front(), std::byte{7});
  EXPECT_EQ(find_mds_column(columns, 2, sample)->front(), std::byte{'z'});
  for (std::size_t size = 0; size < sample.size(); ++size)
    EXPECT_FALSE(find_mds_column(columns, 1, ConstBytes(sample).first(size))) << size;
}

}  // namespace
}  // namespace penstock
