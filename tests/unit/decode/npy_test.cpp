#include "decode/npy.h"

#include <gtest/gtest.h>

#include "support/make_npy.h"

namespace penstock {
namespace {

Result<NpyHeader> parse(const std::vector<std::byte>& bytes) { return parse_npy_header(bytes, Limits{}); }
Result<NpyHeader> parse_text(const std::string& text, int major = 1) {
  return parse(npy_with_header(text, major));
}

TEST(Npy, all_number_types_are_read) {
  const struct {
    const char* descr;
    DType dtype;
  } rows[] = {{"|b1", DType::kBool},      {"|u1", DType::kUInt8},       {"|i1", DType::kInt8},
              {"<u2", DType::kUInt16},    {"<i2", DType::kInt16},       {"<u4", DType::kUInt32},
              {"<i4", DType::kInt32},     {"<u8", DType::kUInt64},      {"<i8", DType::kInt64},
              {"<f2", DType::kFloat16},   {"<f4", DType::kFloat32},     {"<f8", DType::kFloat64},
              {"<c8", DType::kComplex64}, {"<c16", DType::kComplex128}, {"<M8[ns]", DType::kInt64},
              {"<m8[s]", DType::kInt64}};
  for (const auto& row : rows) {
    const auto header = parse_text(npy_dict(row.descr, {4, 5}));
    ASSERT_TRUE(header) << row.descr << ": " << header.error().describe();
    EXPECT_EQ(header->array.dtype, row.dtype) << row.descr;
    EXPECT_EQ(header->array.shape, (Shape{4, 5}));
    EXPECT_FALSE(header->big_endian);
    EXPECT_FALSE(header->fortran_order);
    EXPECT_EQ(header->data_offset % 64, 0u);
  }
}

TEST(Npy, versions_one_to_three_are_read_and_others_are_not) {
  for (const int major : {1, 2, 3}) {
    const auto header = parse_text(npy_dict("<f4", {7}), major);
    ASSERT_TRUE(header) << major;
    EXPECT_EQ(header->array.shape, Shape{7});
  }
  EXPECT_EQ(parse_text(npy_dict("<f4", {7}), 4).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(parse_text(npy_dict("<f4", {7}), 0).error().code, ErrorCode::kUnsupported);
}

TEST(Npy, big_endian_and_fortran_order_are_noted) {
  const auto header = parse_text(npy_dict(">f4", {3, 4}, true));
  ASSERT_TRUE(header);
  EXPECT_TRUE(header->big_endian);
  EXPECT_TRUE(header->fortran_order);
  EXPECT_FALSE(parse_text(npy_dict(">u1", {3}))->big_endian) << "one byte has no order";
  EXPECT_FALSE(parse_text(npy_dict("<f4", {3}, true))->fortran_order) << "one axis has no order";
}

TEST(Npy, scalars_empty_arrays_and_eight_axes) {
  EXPECT_EQ(parse_text(npy_dict("<f4", {}))->array.shape, Shape{});
  EXPECT_EQ(parse_text(npy_dict("<f4", {}))->data_bytes(), 4u);
  EXPECT_EQ(parse_text(npy_dict("<f4", {0, 3}))->data_bytes(), 0u);
  EXPECT_TRUE(parse_text(npy_dict("<f4", Shape(8, 1))));
  EXPECT_FALSE(parse_text(npy_dict("<f4", Shape(9, 1))));
}

TEST(Npy, objects_are_never_unpickled) {
  const auto header = parse_text(npy_dict("|O", {3}));
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(parse_text(npy_dict("|O8", {3})).error().code, ErrorCode::kUnsupported);
}

TEST(Npy, objects_are_named_as_such) {
  EXPECT_NE(parse_text(npy_dict("|O", {3})).error().message.find("pickle"), std::string::npos);
}

TEST(Npy, structured_and_unknown_types_are_unsupported) {
  EXPECT_EQ(parse_text("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }").error().code,
            ErrorCode::kUnsupported);
  for (const char* descr : {"<U5", "|S3", "<f16", "<V8", "<c32", "?f4", "f4", ""})
    EXPECT_EQ(parse_text(npy_dict(descr, {3})).error().code, ErrorCode::kUnsupported) << descr;
}

TEST(Npy, shapes_that_overflow_or_are_negative_are_refused) {
  for (const char* shape :
       {"(-1,)", "(3, -4)", "(9223372036854775808,)", "(4611686018427387904, 4)",
        "(4294967296, 4294967296, 2)", "(2305843009213693952,)",
        "(0, 4611686018427387904, 4611686018427387904)", "(1e3,)", "(3", "3,)", "(,)", "(3,,4)", "[3]"})
    EXPECT_FALSE(
        parse_text(std::string("{'descr': '<f4', 'fortran_order': False, 'shape': ") + shape + ", }"))
        << shape;
}

TEST(Npy, header_of_four_gibibytes_is_refused_before_it_is_read) {
  auto bytes = npy_with_header(npy_dict("<f4", {3}), 2);
  const std::uint32_t length = 0xFFFFFFFF;
  std::memcpy(bytes.data() + 8, &length, 4);
  EXPECT_EQ(npy_header_size(bytes, Limits{}).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(parse(bytes).error().code, ErrorCode::kTooLarge);
}

TEST(Npy, cut_anywhere_in_the_header_is_an_error) {
  const auto whole = npy_with_header(npy_dict("<f4", {3, 4}));
  for (std::size_t size = 0; size < whole.size(); ++size)
    ASSERT_FALSE(parse({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)})) << size;
  EXPECT_TRUE(parse(whole));
}

TEST(Npy, every_flipped_bit_of_the_header_gives_an_error_or_a_sane_header) {
  const auto whole = npy_with_header(npy_dict("<f4", {3, 4}));
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    auto bytes = whole;
    bytes[bit / 8] ^= std::byte(1u << bit % 8);
    const auto header = parse(bytes);
    if (!header) continue;
    EXPECT_LE(header->data_offset, whole.size());
    EXPECT_LE(header->array.shape.size(), 8u);
    for (const auto extent : header->array.shape) EXPECT_GE(extent, 0);
  }
}

TEST(Npy, missing_repeated_and_unknown_keys) {
  EXPECT_FALSE(parse_text("{'descr': '<f4', 'shape': (3,), }"));
  EXPECT_FALSE(parse_text("{'descr': '<f4', 'fortran_order': False, }"));
  EXPECT_FALSE(parse_text("{'fortran_order': False, 'shape': (3,), }"));
  EXPECT_FALSE(parse_text("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'extra': 1, }"));
  EXPECT_FALSE(parse_text(""));
  EXPECT_FALSE(parse_text("{"));
  EXPECT_TRUE(parse_text("{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (3L,)}"))
      << "as Python 2 wrote it";
}

TEST(Npy, payload_must_be_exactly_what_the_shape_promises) {
  const auto header = parse_text(npy_dict("<f4", {3, 4}));
  ASSERT_TRUE(header);
  EXPECT_TRUE(check_npy_size(*header, header->data_offset + 48));
  const auto shorter = check_npy_size(*header, header->data_offset + 47);
  EXPECT_EQ(shorter.error().code, ErrorCode::kTruncated);
  EXPECT_FALSE(check_npy_size(*header, header->data_offset + 49));
}

}  // namespace
}  // namespace penstock
