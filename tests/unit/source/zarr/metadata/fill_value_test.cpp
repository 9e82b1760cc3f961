#include "source/zarr/metadata/fill_value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace penstock {
namespace {

template <typename T>
Result<T> fill(const std::string& text, DType dtype, int version = 3) {
  const Json value = Json::parse(text);
  const auto filled = read_fill_value(&value, dtype, version, "z");
  if (!filled) return std::unexpected(filled.error());
  T out;
  std::memcpy(&out, filled->bytes.data(), sizeof(T));
  return out;
}

TEST(ZarrFillValue, numbers_of_every_type) {
  EXPECT_EQ(fill<std::uint8_t>("true", DType::kBool), 1);
  EXPECT_EQ(fill<std::uint8_t>("0", DType::kBool), 0);
  EXPECT_EQ(fill<std::uint8_t>("255", DType::kUInt8), 255);
  EXPECT_EQ(fill<std::int8_t>("-128", DType::kInt8), -128);
  EXPECT_EQ(fill<std::int16_t>("-32768", DType::kInt16), -32768);
  EXPECT_EQ(fill<std::uint16_t>("65535", DType::kUInt16), 65535);
  EXPECT_EQ(fill<std::int32_t>("0.0", DType::kInt32), 0);
  EXPECT_EQ(fill<std::uint32_t>("4294967295", DType::kUInt32), 4294967295u);
  EXPECT_EQ(fill<std::int64_t>("-9223372036854775808", DType::kInt64), INT64_MIN);
  EXPECT_EQ(fill<std::int64_t>("9007199254740993", DType::kInt64), 9007199254740993);
  EXPECT_EQ(fill<std::int64_t>("\"NaT\"", DType::kInt64), INT64_MIN);
  EXPECT_EQ(fill<std::uint64_t>("18446744073709551615", DType::kUInt64), UINT64_MAX);
  EXPECT_EQ(fill<float>("1.5", DType::kFloat32), 1.5f);
  EXPECT_EQ(fill<float>("3", DType::kFloat32), 3.0f);
  EXPECT_EQ(fill<double>("9.969209968386869e+36", DType::kFloat64), 9.969209968386869e+36);
  EXPECT_EQ(fill<std::uint16_t>("1.5", DType::kFloat16), 0x3e00);
  EXPECT_EQ(fill<std::uint16_t>("1.5", DType::kBFloat16), 0x3fc0);
  EXPECT_EQ(fill<std::uint16_t>("1e9", DType::kFloat16), 0x7c00);
}

TEST(ZarrFillValue, numbers_that_json_has_not) {
  for (const int version : {2, 3}) {
    EXPECT_TRUE(std::isnan(*fill<float>("\"NaN\"", DType::kFloat32, version)));
    EXPECT_EQ(fill<double>("\"Infinity\"", DType::kFloat64, version),
              std::numeric_limits<double>::infinity());
    EXPECT_EQ(fill<float>("\"-Infinity\"", DType::kFloat32, version),
              -std::numeric_limits<float>::infinity());
    EXPECT_EQ(fill<std::uint16_t>("\"NaN\"", DType::kFloat16, version), 0x7e00);
    EXPECT_EQ(fill<std::uint16_t>("\"NaN\"", DType::kBFloat16, version), 0x7fc0);
    EXPECT_EQ(fill<std::uint16_t>("\"-Infinity\"", DType::kBFloat16, version), 0xff80);
  }
  EXPECT_EQ(fill<std::uint32_t>("\"0x7fc00001\"", DType::kFloat32), 0x7fc00001u);
  EXPECT_EQ(fill<std::uint64_t>("\"0x7ff8000000000001\"", DType::kFloat64), 0x7ff8000000000001u);
  EXPECT_EQ(fill<std::uint16_t>("\"0x7e01\"", DType::kFloat16), 0x7e01);
  EXPECT_FALSE(fill<float>("\"0x7fc0\"", DType::kFloat32));
  EXPECT_FALSE(fill<float>("\"0x7fc0000g\"", DType::kFloat32));
  EXPECT_FALSE(fill<float>("\"0x-fc00000\"", DType::kFloat32));
}

TEST(ZarrFillValue, complex_numbers_are_pairs) {
  using Pair = std::array<float, 2>;
  EXPECT_EQ(fill<Pair>("[1.5, -2]", DType::kComplex64), (Pair{1.5f, -2.0f}));
  EXPECT_EQ(fill<Pair>("3", DType::kComplex64), (Pair{3, 0}));
  EXPECT_EQ((fill<std::array<double, 2>>("[\"Infinity\", \"0x4000000000000000\"]", DType::kComplex128)),
            (std::array<double, 2>{std::numeric_limits<double>::infinity(), 2.0}));
  EXPECT_FALSE(fill<Pair>("[1]", DType::kComplex64));
  EXPECT_FALSE(fill<Pair>("[1, 2, 3]", DType::kComplex64));
  EXPECT_FALSE(fill<Pair>("[1, [2]]", DType::kComplex64));
}

TEST(ZarrFillValue, null_is_zero_in_version_2_only) {
  EXPECT_EQ(fill<double>("null", DType::kFloat64, 2), 0.0);
  EXPECT_FALSE(fill<double>("null", DType::kFloat64, 3));
  EXPECT_TRUE(read_fill_value(nullptr, DType::kFloat64, 2, "z"));
  EXPECT_FALSE(read_fill_value(nullptr, DType::kFloat64, 3, "z"));
}

TEST(ZarrFillValue, base64_in_version_2_only) {
  EXPECT_EQ(fill<std::uint32_t>("\"AQAAAA==\"", DType::kInt32, 2), 1u);
  EXPECT_EQ(fill<std::uint64_t>("\"AQAAAAAAAEA=\"", DType::kUInt64, 2), 0x4000000000000001u);
  EXPECT_FALSE(fill<std::uint32_t>("\"AQAAAA==\"", DType::kInt32, 3));
  for (const char* text :
       {"\"AQAAAA=\"", "\"AQAAAAA=\"", "\"AQAAAB==\"", "\"AQ=AAA==\"", "\"AQ-AAA==\"", "\"\""})
    EXPECT_FALSE(fill<std::uint32_t>(text, DType::kInt32, 2)) << text;
}

TEST(ZarrFillValue, what_does_not_fit_is_an_error) {
  for (const char* text : {"256", "-1", "1.5", "1e30", "\"NaN\"", "true", "[]", "{}", "\"1\"", "null"}) {
    const auto value = fill<std::uint8_t>(text, DType::kUInt8);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(value.error().where.uri, "z");
  }
  EXPECT_FALSE(fill<std::int64_t>("9223372036854775808", DType::kInt64));
  EXPECT_FALSE(fill<std::int64_t>("9223372036854775808.0", DType::kInt64));
  EXPECT_TRUE(fill<std::int64_t>("-9223372036854775808.0", DType::kInt64));
  EXPECT_FALSE(fill<std::uint64_t>("18446744073709551616", DType::kUInt64));
  EXPECT_FALSE(fill<std::uint8_t>("2", DType::kBool));
  EXPECT_FALSE(fill<float>("true", DType::kFloat32));
}

TEST(ZarrFillValue, elements_are_filled_in_either_byte_order) {
  const Json value = Json::parse("[1.5, 2.5]");
  const auto pair = read_fill_value(&value, DType::kComplex64, 3, "z");
  ASSERT_TRUE(pair);
  std::vector<std::byte> bytes(8 * 7);
  fill_elements(*pair, DType::kComplex64, true, bytes);
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    EXPECT_EQ(bytes[i], std::byte{0x3f});
    EXPECT_EQ(bytes[i + 1], std::byte{0xc0});
    EXPECT_EQ(bytes[i + 4], std::byte{0x40});
    EXPECT_EQ(bytes[i + 5], std::byte{0x20});
  }
  fill_elements(*pair, DType::kComplex64, false, bytes);
  std::array<float, 14> floats;
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  for (std::size_t i = 0; i < floats.size(); ++i) EXPECT_EQ(floats[i], i % 2 == 0 ? 1.5f : 2.5f);
  fill_elements({}, DType::kFloat64, true, bytes);
  EXPECT_EQ(bytes, std::vector<std::byte>(bytes.size()));
  fill_elements(*pair, DType::kComplex64, true, {});
}

}  // namespace
}  // namespace penstock
