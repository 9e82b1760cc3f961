#include "decode/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace penstock {
namespace {

ConstBytes bytes(std::string_view text) { return as_bytes(text.data(), text.size()); }

// -1 where it is fine.
std::int64_t bad_utf8_at(std::string_view text) {
  const auto status = check_utf8(bytes(text));
  return status ? -1 : status.error().where.offset;
}
std::int64_t bad_json_at(std::string_view text) {
  const auto status = check_json(bytes(text));
  if (status) return -1;
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  EXPECT_FALSE(status.error().message.empty());
  return status.error().where.offset;
}

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') +
         std::string(static_cast<std::size_t>(depth), ']');
}

TEST(Utf8, text_in_all_widths_is_valid) {
  for (const char* text : {"", "plain", "gr\u00fc\u00dfe", "\u65e5\u672c\u8a9e", "\U0001f600",
                           "\u0080\u07ff\u0800\uffff\U00010000\U0010ffff"})
    EXPECT_EQ(bad_utf8_at(text), -1) << text;
  EXPECT_EQ(bad_utf8_at(std::string_view("a\0b", 3)), -1);
}

// The definition, decoded the slow way.
bool is_utf8_by_definition(const std::vector<std::uint8_t>& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::uint8_t first = text[at];
    const std::size_t length = first < 0x80       ? 1
                               : first >> 5 == 6  ? 2
                               : first >> 4 == 14 ? 3
                               : first >> 3 == 30 ? 4
                                                  : 0;
    if (length == 0 || length > text.size() - at) return false;
    std::uint32_t code = length == 1 ? first : first & (0x7f >> length);
    for (std::size_t i = 1; i < length; ++i) {
      if (text[at + i] >> 6 != 2) return false;
      code = code << 6 | (text[at + i] & 0x3f);
    }
    const std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return false;
    at += length;
  }
  return true;
}

TEST(Utf8, every_first_and_second_byte_is_judged_as_defined) {
  const std::uint8_t tails[][2] = {{0x80, 0xbf}, {0xbf, 0x41}, {0x7f, 0x80}, {0xc0, 0x80}};
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second)
      for (const auto& tail : tails)
        for (std::size_t size = 1; size <= 4; ++size) {
          std::vector<std::uint8_t> text{static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(second),
                                         tail[0], tail[1]};
          text.resize(size);
          ASSERT_EQ(check_utf8(as_bytes(text.data(), size)).has_value(), is_utf8_by_definition(text))
              << first << " " << second << " and " << int{tail[0]} << " " << int{tail[1]} << " of " << size;
        }
}

TEST(Utf8, the_offset_is_that_of_the_bad_character) {
  EXPECT_EQ(bad_utf8_at("\xff"), 0);
  EXPECT_EQ(bad_utf8_at("abc\xc3"), 3);
  EXPECT_EQ(bad_utf8_at("sixteen bytes ..\xed\xa0\x80"), 16) << "a surrogate";
  EXPECT_EQ(bad_utf8_at("\u00fc\xc0\x80"), 2) << "an overlong zero";
  for (std::size_t at = 0; at < 40; ++at) {
    std::string text(40, 'x');
    text[at] = '\x80';
    EXPECT_EQ(bad_utf8_at(text), static_cast<std::int64_t>(at));
  }
}

TEST(Json, values_of_all_kinds_are_accepted) {
  for (const char* text :
       {"null", "true", " [1, -2.5e3, \"x\", {}] ", "{\"a\": {\"a\": 1}, \"b\": [{\"a\": 1}, {\"a\": 2}]}",
        "\"gr\u00fc\u00dfe\"", "\"\\u00fc\\ud83d\\ude00\"", "18446744073709551616", "1e308", "1e-999", "-0"})
    EXPECT_EQ(bad_json_at(text), -1) << text;
}

TEST(Json, what_is_not_json_is_refused) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[1,]",
                           "{\"a\":}",
                           "{'a': 1}",
                           "nul",
                           "NaN",
                           "Infinity",
                           "-Infinity",
                           "01",
                           "+1",
                           ".5",
                           "1 2",
                           "{} x",
                           "[1] // no",
                           "\"\\x\"",
                           "\"\\ud800\"",
                           "\"tab\there\"",
                           "\"open",
                           "\"\xff\"",
                           "\"\xed\xa0\x80\""})
    EXPECT_GE(bad_json_at(text), 0) << text;
}

TEST(Json, the_offset_is_where_it_goes_wrong) {
  EXPECT_EQ(bad_json_at("{\"a\": 1} x"), 9);
  EXPECT_EQ(bad_json_at("[1, ?]"), 4);
  EXPECT_EQ(bad_json_at("[1"), 2);
  EXPECT_EQ(bad_json_at("{\"a\": 1, \"a\": 2}"), 12) << "just behind the key";
  EXPECT_EQ(bad_json_at(nested(257)), 256);
}

TEST(Json, a_zero_byte_ends_nothing) {
  EXPECT_EQ(bad_json_at(std::string_view("{}\0 garbage", 11)), 2);
  EXPECT_EQ(bad_json_at(std::string_view("{}\0", 3)), 2);
}

TEST(Json, nesting_has_a_limit) {
  EXPECT_EQ(bad_json_at(nested(256)), -1);
  EXPECT_GE(bad_json_at(nested(257)), 0);
  EXPECT_GE(bad_json_at(std::string(1'000'000, '[')), 0) << "no stack is at risk";
  std::string flat = "[";
  for (int i = 0; i < 1000; ++i) flat += "[],{},";
  EXPECT_EQ(bad_json_at(flat + "1]"), -1) << "only depth counts";
}

TEST(Json, duplicate_keys_are_refused_however_they_are_spelt) {
  EXPECT_GE(bad_json_at("{\"a\": 1, \"b\": 2, \"a\": 3}"), 0);
  EXPECT_GE(bad_json_at("{\"a\": 1, \"\\u0061\": 3}"), 0);
  EXPECT_GE(bad_json_at("{\"x\": {\"a\": 1, \"a\": 3}}"), 0);
  EXPECT_EQ(bad_json_at("{\"a\": [{\"a\": 1}], \"A\": 3}"), -1);
}

TEST(Json, numbers_beyond_a_double_are_refused) {
  EXPECT_GE(bad_json_at("1e309"), 0);
  EXPECT_GE(bad_json_at("[-1e999]"), 0);
  EXPECT_GE(bad_json_at(std::string(400, '9')), 0);
  const auto status = check_json(bytes("1e309"));
  EXPECT_NE(status.error().message.find("number too large"), std::string::npos);
}

TEST(Integer, numbers_with_sign_and_space_are_read) {
  EXPECT_EQ(parse_integer(bytes("0")), 0);
  EXPECT_EQ(parse_integer(bytes(" 42\n")), 42);
  EXPECT_EQ(parse_integer(bytes("+7")), 7);
  EXPECT_EQ(parse_integer(bytes("-7\r\n")), -7);
  EXPECT_EQ(parse_integer(bytes("007")), 7);
  EXPECT_EQ(parse_integer(bytes("9223372036854775807")), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_integer(bytes("-9223372036854775808")), std::numeric_limits<std::int64_t>::min());
}

TEST(Integer, all_else_is_refused) {
  for (const char* text : {"", " ", "+", "-", "+-1", "--1", "++1", "1.0", "1e3", "0x10", "1 2", "one", "12a",
                           "1,000", "- 1", "\xd9\xa3", "99999999999999999999x"})
    EXPECT_EQ(parse_integer(bytes(text)).error().code, ErrorCode::kCorrupt) << text;
  EXPECT_FALSE(parse_integer(ConstBytes{}));
  EXPECT_FALSE(parse_integer(bytes(std::string_view("1\0", 2))));
}

TEST(Integer, numbers_beyond_64_bits_are_not_wrapped) {
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "99999999999999999999999"})
    EXPECT_EQ(parse_integer(bytes(text)).error().code, ErrorCode::kUnsupported) << text;
}

}  // namespace
}  // namespace penstock
