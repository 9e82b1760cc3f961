#include "source/manifest/csv_delimiter.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

char found(std::string_view text) {
  const auto delimiter = find_csv_delimiter(text, "t.csv");
  return delimiter ? *delimiter : '!';
}

TEST(CsvDelimiter, is_a_comma_where_the_names_have_one) {
  EXPECT_EQ(found("a,b\n1,2\n"), ',');
  EXPECT_EQ(found("a;x,b\n1;1,2\n"), ',');
  EXPECT_EQ(found("a\n1\n"), ',');
  EXPECT_EQ(found(""), ',');
}

TEST(CsvDelimiter, is_what_the_first_rows_agree_on) {
  EXPECT_EQ(found("a;b\n1;2\n"), ';');
  EXPECT_EQ(found("a;b\n"), ';');
  EXPECT_EQ(found("a;b\n1,5;2,5\n"), ';');
  EXPECT_EQ(found("a\tb\r\n1\t2\r\n\r\n3\t4"), '\t');
  EXPECT_EQ(found("a;b\tc\n1\t2\n3\t4\n"), '\t');
}

TEST(CsvDelimiter, is_not_looked_for_within_quotes) {
  EXPECT_EQ(found("\"a,x\";b\n\"1;\"\"2\"\"\n;3\";4\n"), ';');
  EXPECT_EQ(found("\"a;b\"\n1\n"), ',');
}

TEST(CsvDelimiter, is_an_error_where_the_rows_differ) {
  const auto delimiter = find_csv_delimiter("a;b\n1;2\n3\n", "t.csv");
  ASSERT_FALSE(delimiter);
  EXPECT_EQ(delimiter.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(delimiter.error().where.uri, "t.csv");
  EXPECT_NE(delimiter.error().message.find("delimiter=\";\""), std::string::npos);
}

TEST(CsvDelimiter, open_quotes_end_with_the_text) {
  EXPECT_EQ(found("\""), ',');
  EXPECT_EQ(found("a;\"b"), ';');
  EXPECT_EQ(found("a;b\n\"1;2"), '!');
}

}  // namespace
}  // namespace penstock
