#include <gtest/gtest.h>

#include "parse_table.h"

namespace penstock {
namespace {

TEST(JsonLinesTable, keys_of_the_first_line_are_the_columns_in_any_later_order) {
  const auto table = parse_json("{\"path\": \"a.jpg\", \"n\": 1}\r\n \t\n{\"n\":2,\"path\":\"b.jpg\"} ");
  EXPECT_EQ(cells_of(table), (Cells{{"a.jpg", "1"}, {"b.jpg", "2"}}));
  EXPECT_EQ(table->names(), (std::vector<std::string>{"path", "n"}));
  EXPECT_EQ(table->type(0), ColumnType::kText);
  EXPECT_EQ(table->type(1), ColumnType::kInteger);
  EXPECT_EQ(table->integer(1, 1), 2);
  EXPECT_EQ(table->row_length(0), 25u);
  EXPECT_EQ(table->row_offset(1), 30u);
}

TEST(JsonLinesTable, escapes_are_undone_in_text_and_in_keys) {
  const auto table = parse_json(R"({"\u0061": "\"\\\/\b\f\n\r\t\u00e9\u65e5\ud83d\ude00x"})"
                                "\n"
                                R"({"a": "plain"})");
  EXPECT_EQ(cells_of(table), (Cells{{"\"\\/\b\f\n\r\té日😀x"}, {"plain"}}));
  EXPECT_EQ(table->names()[0], "a");
}

TEST(JsonLinesTable, strings_are_text_even_where_they_look_like_numbers) {
  EXPECT_EQ(parse_json("{\"a\":1}\n{\"a\":\"2\"}")->type(0), ColumnType::kText);
  EXPECT_EQ(cells_of(parse_json("{\"a\":1}\n{\"a\":\"2\"}")), (Cells{{"1"}, {"2"}}));
}

TEST(JsonLinesTable, numbers_are_integers_only_if_all_are) {
  const auto exact = parse_json("{\"a\":9007199254740993}\n{\"a\":-0}");
  EXPECT_EQ(exact->type(0), ColumnType::kInteger);
  EXPECT_EQ(exact->integer(0, 0), 9007199254740993);
  const auto real = parse_json("{\"a\":1}\n{\"a\":18446744073709551616}");
  ASSERT_EQ(real->type(0), ColumnType::kReal);
  EXPECT_EQ(real->real(1, 0), 18446744073709551616.0);
  EXPECT_EQ(parse_json("{\"a\":1.0}")->type(0), ColumnType::kReal);
}

TEST(JsonLinesTable, other_values_make_a_column_of_json_text_with_quoted_strings) {
  const auto table = parse_json(
      "{\"a\":\"x\\n\",\"b\":[1, "
      "{\"k\":\"]\"}],\"c\":1}\n{\"a\":null,\"b\":{},\"c\":true}\n{\"a\":5,\"b\":\"\","
      "\"c\":false}");
  EXPECT_EQ(cells_of(table),
            (Cells{{"\"x\\n\"", "[1, {\"k\":\"]\"}]", "1"}, {"null", "{}", "true"}, {"5", "\"\"", "false"}}));
  for (std::size_t column = 0; column < 3; ++column) EXPECT_EQ(table->type(column), ColumnType::kJson);
}

TEST(JsonLinesTable, keys_must_be_those_of_the_first_line) {
  const std::string first = "{\"a\":1,\"b\":2}\n";  // 14 bytes
  expect_error(parse_json(first + "{\"b\":1}\n"), ErrorCode::kCorrupt, "no key 'a'", 14, 7, 1);
  expect_error(parse_json(first + "{}"), ErrorCode::kCorrupt, "no key 'a'", 14, 2, 1);
  expect_error(parse_json(first + "{\"a\":1,\"b\":2,\"c\":3}"), ErrorCode::kCorrupt, "'c'", 14, 19, 1);
  expect_error(parse_json(first + "{\"a\":1,\"a\":2}"), ErrorCode::kCorrupt, "'a' twice", 14, 13, 1);
  expect_error(parse_json(first + "{\"a\":1,\"\\u0061\":2}"), ErrorCode::kCorrupt, "'a' twice", 14, 18, 1);
  expect_error(parse_json("\n{\"a\":1,\"a\":2}"), ErrorCode::kCorrupt, "named 'a'", 1, 13, 0);
  expect_error(parse_json("{\"\":1}"), ErrorCode::kCorrupt, "no name", 0, 6, 0);
  expect_error(parse_json("{}"), ErrorCode::kCorrupt, "no columns", 0, 2, 0);
}

TEST(JsonLinesTable, a_line_that_is_no_object_is_refused_with_the_byte_to_blame) {
  for (const std::string line : {"[1]",
                                 "3",
                                 "\"a\"",
                                 "null",
                                 "{",
                                 "{\"a\"",
                                 "{\"a\":",
                                 "{\"a\":1",
                                 "{\"a\":1,}",
                                 "{\"a\":1}}",
                                 "{\"a\":1 2}",
                                 "{a:1}",
                                 "{'a':1}",
                                 "{\"a\":NaN}",
                                 "{\"a\":Infinity}",
                                 "{\"a\":-Infinity}",
                                 "{\"a\":01}",
                                 "{\"a\":+1}",
                                 "{\"a\":.5}",
                                 "{\"a\":5.}",
                                 "{\"a\":1e}",
                                 "{\"a\":-}",
                                 "{\"a\":1e999}",
                                 "{\"a\":tru}",
                                 "{\"a\":\"x}",
                                 "{\"a\":\"\\x\"}",
                                 "{\"a\":\"\\ud800\"}",
                                 "{\"a\":\"\\udc00\"}",
                                 "{\"a\":\"\\ud800\\u0061\"}",
                                 "{\"a\":\"\\u00g0\"}",
                                 "{\"a\":\"\\u12\"}",
                                 "{\"a\":\"\\u0000\"}",
                                 "{\"a\":\"\t\"}",
                                 "{\"a\":[}",
                                 "{\"a\":[1,]}",
                                 "{\"a\":{\"k\":1,\"k\":2}}",
                                 "{\"a\":[NaN]}",
                                 "{\"a\":[1e999]}",
                                 "{,}",
                                 "{\"a\":1,,}"})
    expect_error(parse_json("{\"a\":1}\n" + line + "\n{\"a\":1}\n"), ErrorCode::kCorrupt, "", 8,
                 static_cast<std::int64_t>(line.size()), 1);
  expect_error(parse_json("{\"a\" 1}"), ErrorCode::kCorrupt, "at byte 5 of the row", 0, 7, 0);
  expect_error(parse_json("{\"a\": [1 2]}"), ErrorCode::kCorrupt, "at byte 9 of the row", 0, 12, 0);
}

TEST(JsonLinesTable, nul_bytes_and_bad_utf8_are_refused) {
  using namespace std::string_literals;
  expect_error(parse_json("{\"a\":1}\n{\"a\":\"\0\"}"s), ErrorCode::kCorrupt, "NUL", 8, 9, 1);
  expect_error(parse_json("{\"a\":\"\xC3\"}"), ErrorCode::kCorrupt, "UTF-8", 0, 9, 0);
}

TEST(JsonLinesTable, nesting_ends_at_256) {
  const auto nested = [](std::size_t depth) {
    return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_EQ(cells_of(parse_json(nested(256)))[0][0].size(), 512u);
  expect_error(parse_json(nested(257)), ErrorCode::kTooLarge, "nested", 0, 520, 0);
  expect_error(parse_json("{\"a\":" + std::string(1'000'000, '[')), ErrorCode::kTooLarge, "nested", 0,
               1'000'005, 0);
}

TEST(JsonLinesTable, a_million_columns_are_refused) {
  std::string text = "{\"c\":0";
  for (int i = 1; i < 1'000'000; ++i) text += ",\"c" + std::to_string(i) + "\":0";
  text += "}";
  expect_error(parse_json(text), ErrorCode::kTooLarge, "more than 65536 columns", 0,
               static_cast<std::int64_t>(text.size()), 0);
}

TEST(JsonLinesTable, no_rows_is_not_found) {
  for (const std::string_view text : {"", "\n \r\n", "\xEF\xBB\xBF\n"})
    expect_error(parse_json(text), ErrorCode::kNotFound, "no rows", 0, static_cast<std::int64_t>(text.size()),
                 -1);
}

}  // namespace
}  // namespace penstock
