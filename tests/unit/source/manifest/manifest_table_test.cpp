#include "source/manifest/manifest_table.h"

#include <gtest/gtest.h>

#include "parse_table.h"

namespace penstock {
namespace {

TEST(ManifestTable, a_file_beyond_its_limit_is_refused_unread) {
  const char byte = 'a';
  const auto table =
      ManifestTable::parse(as_bytes(&byte, kManifestBytes + 1), ManifestFormat::kCsv, "store/table");
  expect_error(table, ErrorCode::kTooLarge, "4294967296 bytes", -1, -1, -1);
}

// What is left of a file that was cut is an error, or the rows before the cut and a piece of the one at it.
TEST(ManifestTable, cut_at_any_byte_is_an_error_or_a_prefix) {
  const std::string csv =
      "\xEF\xBB\xBFname,n,r\r\n\"a,\"\"b\"\"\",1,0.5\r\n\r\nçé\rx,-20,1e5\n\"\n\",300,7\r\n";
  const std::string json =
      "{\"name\":\"\\u00e9\\ud83d\\ude00\",\"n\":12,\"o\":[1,{\"k\":null}]}\r\n"
      "{\"n\":-5,\"o\":\"\\n\",\"name\":\"日\"}\n\n{\"o\":true,\"name\":\"\",\"n\":0}";
  for (const auto& [text, format] :
       {std::pair{csv, ManifestFormat::kCsv}, std::pair{json, ManifestFormat::kJsonLines}}) {
    const Cells whole = cells_of(parse(text, format));
    std::uint64_t tables = 0;
    for (std::size_t size = 0; size < text.size(); ++size) {
      const auto table = parse(std::string_view(text).substr(0, size), format);
      if (!table) {
        EXPECT_EQ(table.error().where.uri, "store/table");
        EXPECT_LE(table.error().where.offset, static_cast<std::int64_t>(size));
        continue;
      }
      ++tables;
      const Cells cells = cells_of(table);
      ASSERT_LE(cells.size(), whole.size()) << size;
      for (std::size_t row = 0; row < cells.size(); ++row)
        for (std::size_t column = 0; column < 3; ++column) {
          const bool at_cut = row + 1 == cells.size() && column == 2 && format == ManifestFormat::kCsv;
          const std::string& want = whole[row][column];
          if (at_cut) {
            EXPECT_TRUE(want.starts_with(cells[row][column])) << size << ": " << cells[row][column];
          } else if (format == ManifestFormat::kCsv || column < 2) {  // "o" is JSON or text, by the rows
            EXPECT_EQ(cells[row][column], want) << size;
          }
        }
    }
    EXPECT_GT(tables, 3u);
  }
}

TEST(ManifestTable, two_hundred_thousand_rows_keep_every_value) {
  constexpr std::uint64_t kRows = 200'000;
  std::string csv = "path,label,score\n", json;
  for (std::uint64_t row = 0; row < kRows; ++row) {
    const std::string path = "images/" + std::to_string(row) + ".jpg", label = std::to_string(row % 1000),
                      score = std::to_string(row) + ".25";
    csv += path + "," + label + "," + score + "\n";
    json += "{\"path\":\"" + path + "\",\"label\":" + label + ",\"score\":" + score + "}\n";
  }
  for (const auto& [text, format] :
       {std::pair{&csv, ManifestFormat::kCsv}, std::pair{&json, ManifestFormat::kJsonLines}}) {
    const auto table = parse(*text, format);
    ASSERT_TRUE(table) << table.error().describe();
    ASSERT_EQ(table->rows(), kRows);
    EXPECT_EQ(table->type(1), ColumnType::kInteger);
    EXPECT_EQ(table->type(2), ColumnType::kReal);
    for (std::uint64_t row = 0; row < kRows; row += 997) {
      EXPECT_EQ(table->cell(row, 0), "images/" + std::to_string(row) + ".jpg");
      EXPECT_EQ(table->integer(row, 1), static_cast<std::int64_t>(row % 1000));
      EXPECT_EQ(table->real(row, 2), static_cast<double>(row) + 0.25);
    }
  }
}

}  // namespace
}  // namespace penstock
