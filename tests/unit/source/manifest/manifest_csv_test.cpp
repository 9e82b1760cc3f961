#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/random.h"
#include "parse_table.h"
#include "support/temporary_folder.h"

namespace penstock {
namespace {

TEST(CsvTable, first_line_names_the_columns_and_rows_know_where_they_are) {
  const auto table = parse_csv("path,label\na.jpg,3\n\nbb.jpg,-4");
  EXPECT_EQ(cells_of(table), (Cells{{"a.jpg", "3"}, {"bb.jpg", "-4"}}));
  EXPECT_EQ(table->names(), (std::vector<std::string>{"path", "label"}));
  EXPECT_EQ(table->type(0), ColumnType::kText);
  EXPECT_EQ(table->type(1), ColumnType::kInteger);
  EXPECT_EQ(table->integer(1, 1), -4);
  EXPECT_EQ(table->real(1, 1), -4.0);
  EXPECT_EQ(table->row_offset(0), 11u);
  EXPECT_EQ(table->row_length(0), 7u);
  EXPECT_EQ(table->row_offset(1), 20u);
  EXPECT_EQ(table->row_length(1), 9u);
}

TEST(CsvTable, quotes_protect_separators_line_breaks_and_doubled_quotes) {
  EXPECT_EQ(cells_of(parse_csv("a,b\n\"x,y\",\"1\n2\"\n\"say \"\"hi\"\"\",\"\"\n\"\"\"\",\"\r\n\"\n")),
            (Cells{{"x,y", "1\n2"}, {"say \"hi\"", ""}, {"\"", "\r\n"}}));
}

TEST(CsvTable, quoted_names_are_unquoted) {
  EXPECT_EQ(parse_csv("\"a,\"\"1\"\"\",b\n1,2\n")->names(), (std::vector<std::string>{"a,\"1\"", "b"}));
}

TEST(CsvTable, a_quote_amid_a_cell_is_a_letter) {
  EXPECT_EQ(cells_of(parse_csv("a,b\n5\" disk,x\"y\"\n")), (Cells{{"5\" disk", "x\"y\""}}));
}

TEST(CsvTable, spaces_belong_to_the_cell) {
  EXPECT_EQ(cells_of(parse_csv("a,b\n x , y\n")), (Cells{{" x ", " y"}}));
}

TEST(CsvTable, crlf_ends_a_line_and_a_lone_cr_does_not) {
  EXPECT_EQ(cells_of(parse_csv("a,b\r\n1,\r\n\r\n\"2\",3\r\n")), (Cells{{"1", ""}, {"2", "3"}}));
  EXPECT_EQ(cells_of(parse_csv("a,b\nx\ry,\r\r\n")), (Cells{{"x\ry", "\r"}}));
  EXPECT_EQ(cells_of(parse_csv("a,b\n1,2\r")), (Cells{{"1", "2"}})) << "half a line end at the file's end";
  EXPECT_EQ(parse_csv("a\r\nxyz\r\n")->row_length(0), 3u);
}

TEST(CsvTable, last_line_may_lack_its_end_and_end_in_an_empty_cell) {
  EXPECT_EQ(cells_of(parse_csv("a,b\n1,")), (Cells{{"1", ""}}));
  EXPECT_EQ(cells_of(parse_csv("a,b\n,")), (Cells{{"", ""}}));
  EXPECT_EQ(cells_of(parse_csv("a\n\"\"")), (Cells{{""}})) << "an empty cell, not an empty line";
}

TEST(CsvTable, a_byte_order_mark_is_no_part_of_the_first_name_but_counts_in_offsets) {
  const auto table = parse_csv(
      "\xEF\xBB\xBF"
      "a\n1\n");
  EXPECT_EQ(cells_of(table), (Cells{{"1"}}));
  EXPECT_EQ(table->names()[0], "a");
  EXPECT_EQ(table->row_offset(0), 5u);
  EXPECT_EQ(cells_of(parse_csv("\xEF\xBB\xBF\"a,b\"\n1\n")), (Cells{{"1"}}));
  EXPECT_EQ(cells_of(parse_json("\xEF\xBB\xBF{\"a\":1}\n")), (Cells{{"1"}}));
}

TEST(CsvTable, tsv_splits_at_tabs_only) {
  EXPECT_EQ(cells_of(parse("a\tb,c\n1,5\t\"x\ty\"\n", ManifestFormat::kTsv)), (Cells{{"1,5", "x\ty"}}));
}

TEST(CsvTable, columns_take_the_narrowest_type_that_holds_every_cell) {
  const auto type_of = [](const std::string& cells) {
    const auto table = parse_csv("c\n" + cells);
    EXPECT_TRUE(table) << table.error().describe();
    return table->type(0);
  };
  EXPECT_EQ(type_of("0\n-12\n9223372036854775807\n-9223372036854775808\n"), ColumnType::kInteger);
  EXPECT_EQ(type_of("\"7\"\n8\n"), ColumnType::kInteger);
  EXPECT_EQ(type_of("9223372036854775808\n"), ColumnType::kReal);
  EXPECT_EQ(type_of("1\n2.5\n"), ColumnType::kReal);
  EXPECT_EQ(type_of("1e-7\n-.5\n5.\n0.5E+3\n"), ColumnType::kReal);
  for (const std::string odd :
       {"007", "+1",  "-",    ".",        "1e",    "1e+",  "-.",  "1_000", " 1",   "1 ", "0x10",
        "nan", "inf", "-inf", "Infinity", "1e999", "00.5", "--1", "1.2.3", "\"\"", "1,"})
    EXPECT_EQ(parse_csv("c,d\n1,1\n" + (odd == "1," ? ",1" : odd + ",1") + "\n")->type(0), ColumnType::kText)
        << odd;
  EXPECT_EQ(type_of(std::string(400, '9') + "\n"), ColumnType::kText) << "no double holds it";
}

TEST(CsvTable, integers_stay_exact_beyond_the_precision_of_doubles) {
  const auto table = parse_csv("c\n9007199254740993\n-9223372036854775808\n");
  EXPECT_EQ(table->integer(0, 0), 9007199254740993);
  EXPECT_EQ(table->integer(1, 0), INT64_MIN);
}

TEST(CsvTable, integers_before_the_first_real_become_reals) {
  const auto table = parse_csv("c\n1\n9007199254740993\n18446744073709551616\n0.1\n");
  ASSERT_EQ(table->type(0), ColumnType::kReal);
  EXPECT_EQ(table->real(0, 0), 1.0);
  EXPECT_EQ(table->real(1, 0), 9007199254740992.0);
  EXPECT_EQ(table->real(2, 0), 18446744073709551616.0);
  EXPECT_EQ(table->real(3, 0), 0.1);
  EXPECT_EQ(table->cell(1, 0), "9007199254740993");
}

TEST(CsvTable, a_row_of_the_wrong_width_is_named) {
  expect_error(parse_csv("a,b\n1,2\n\n3\r\n4,5\n"), ErrorCode::kCorrupt, "1 cells", 9, 1, 1);
  expect_error(parse_csv("a,b\n1,2,3\n"), ErrorCode::kCorrupt, "3 cells", 4, 5, 0);
  expect_error(parse_csv("a,b\n1,\"2\n\",3"), ErrorCode::kCorrupt, "3 cells", 4, 8, 0);
}

TEST(CsvTable, an_unclosed_quote_is_found_where_it_opens) {
  expect_error(parse_csv("a,b\n1,2\n3,\"x\n4,5\n"), ErrorCode::kCorrupt, "never closed", 10, 7, 1);
  expect_error(parse_csv("a,\"b\n1,2\n"), ErrorCode::kCorrupt, "never closed", 2, 7, -1);
  expect_error(parse_csv("a\n\"x\"\""), ErrorCode::kCorrupt, "never closed", 2, 4, 0);
}

TEST(CsvTable, text_after_a_closing_quote_is_refused) {
  expect_error(parse_csv("a,b\n1,2\n\"x\" ,5\n6,7\n"), ErrorCode::kCorrupt, "closing quote", 8, 6, 1);
  expect_error(parse_csv("a,b\n\"x\"\ry,5\n"), ErrorCode::kCorrupt, "closing quote", 4, 7, 0);
  expect_error(parse_csv("\"a\"b,c\n1,2\n"), ErrorCode::kCorrupt, "closing quote", 0, 6, -1);
}

TEST(CsvTable, names_must_be_there_and_differ) {
  expect_error(parse_csv("\na,b,\"a\"\n1,2,3\n"), ErrorCode::kCorrupt, "named 'a'", 1, 7, -1);
  expect_error(parse_csv("a,,b\n1,2,3\n"), ErrorCode::kCorrupt, "no name", 0, 4, -1);
  expect_error(parse_csv("\"\"\n1\n"), ErrorCode::kCorrupt, "no name", 0, 2, -1);
}

TEST(CsvTable, no_rows_is_not_found) {
  for (const std::string_view text : {"", "\n\r\n", "a,b", "a,b\n", "a,b\r\n\r\n\r", "\xEF\xBB\xBF"})
    expect_error(parse_csv(text), ErrorCode::kNotFound, "no rows", 0, static_cast<std::int64_t>(text.size()),
                 -1);
}

TEST(CsvTable, nul_bytes_and_bad_utf8_are_refused_wherever_they_are) {
  using namespace std::string_literals;
  for (std::size_t at = 0; at < 20; ++at) {
    std::string row(20, 'x');
    row[at] = '\0';
    expect_error(parse_csv("c\n1\n" + row + "\n2\n"), ErrorCode::kCorrupt, "NUL", 4, 20, 1);
    row[at] = '\xFF';
    expect_error(parse_csv("c\n1\n" + row + "\n2\n"), ErrorCode::kCorrupt, "UTF-8", 4, 20, 1);
  }
  expect_error(parse_csv("a\0\n1\n"s), ErrorCode::kCorrupt, "NUL", 0, 2, -1);
  expect_error(parse_csv("c\n\"\xC3\n\xA9\"\n"), ErrorCode::kCorrupt, "UTF-8", 2, 5, 0);
  EXPECT_EQ(cells_of(parse_csv("größe\n日本\n")), (Cells{{"日本"}}));
}

TEST(CsvTable, a_million_columns_are_refused) {
  std::string text = "c0";
  for (int i = 1; i < 1'000'000; ++i) text += ",c" + std::to_string(i);
  const auto length = static_cast<std::int64_t>(text.size());
  expect_error(parse_csv(text + "\n1\n"), ErrorCode::kTooLarge, "1000000 columns", 0, length, -1);
}

TEST(CsvTable, as_many_columns_as_allowed_are_read) {
  std::string names = "c0", row = "0";
  for (std::size_t i = 1; i < kManifestColumns; ++i) {
    names += ",c" + std::to_string(i);
    row += "," + std::to_string(i);
  }
  const auto table = parse_csv(names + "\n" + row + "\n" + row + "\n");
  ASSERT_TRUE(table) << table.error().describe();
  EXPECT_EQ(table->integer(1, kManifestColumns - 1), static_cast<std::int64_t>(kManifestColumns) - 1);
}

TEST(CsvTable, a_cell_beyond_its_limit_is_refused) {
  const std::string most(kManifestCellBytes, 'x');
  EXPECT_EQ(parse_csv("c\n" + most + "\n")->cell(0, 0).size(), kManifestCellBytes);
  const auto length = static_cast<std::int64_t>(kManifestCellBytes) + 1;
  expect_error(parse_csv("c\n" + most + "x\n"), ErrorCode::kTooLarge, "a cell of", 2, length, 0);
  expect_error(parse_csv("c\n\"" + most + "x\"\n"), ErrorCode::kTooLarge, "a cell of", 2, length + 2, 0);
  expect_error(parse_json("{\"c\":\"" + most + "\"}"), ErrorCode::kTooLarge, "a value of", 0, length + 7, 0);
}

// A cell as CSV, quoted where it must be and sometimes where it need not.
std::string written(const std::string& cell, Draws& draws) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos && draws.chance(0.7)) return cell;
  std::string quoted = "\"";
  for (const char letter : cell) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + "\"";
}

TEST(CsvTable, agrees_with_the_csv_module_of_python_on_random_tables) {
  if (std::system("python3 -c 'import csv' >/dev/null 2>&1") != 0) GTEST_SKIP() << "no python3";
  const TemporaryFolder folder;
  constexpr int kTables = 300;
  static const std::string kPieces[] = {"a",    "bc", "1",    "-2", "0.5", ",", "\"",
                                        "\"\"", "\n", "\r\n", "\r", "é",   " ", "'"};
  std::vector<std::string> texts;
  for (int which = 0; which < kTables; ++which) {
    Draws draws(20'240, 0, static_cast<std::uint64_t>(which));
    const std::uint64_t columns = 1 + draws.below(5), rows = 1 + draws.below(8);
    std::string text;
    for (std::uint64_t row = 0; row <= rows; ++row) {
      for (std::uint64_t column = 0; column < columns; ++column) {
        std::string cell = row == 0 ? "c" + std::to_string(column) : "";
        for (std::uint64_t piece = draws.below(4); piece > 0; --piece)
          cell += kPieces[draws.below(std::size(kPieces))];
        if (columns == 1 && cell.empty()) cell = "x";  // would be an empty line
        text += (column > 0 ? "," : "") + written(cell, draws);
      }
      text += draws.chance(0.5) ? "\n" : "\r\n";
      if (draws.chance(0.1)) text += "\n";
    }
    texts.push_back(text);
    std::ofstream(folder / (std::to_string(which) + ".csv"), std::ios::binary) << text;
  }
  // The reader's rows come back as: number of rows, number of cells, and each cell as its size and bytes.
  const std::string script = folder / "read.py";
  std::ofstream(script) << "import csv, sys\n"
                           "folder = sys.argv[1]\n"
                           "for i in range(int(sys.argv[2])):\n"
                           "    with open(f'{folder}/{i}.csv', newline='', encoding='utf-8') as f:\n"
                           "        rows = [r for r in csv.reader(f) if r]\n"
                           "    with open(f'{folder}/{i}.out', 'wb') as out:\n"
                           "        out.write(b'%d %d\\n' % (len(rows), len(rows[0])))\n"
                           "        for row in rows:\n"
                           "            for cell in row:\n"
                           "                data = cell.encode()\n"
                           "                out.write(b'%d ' % len(data) + data)\n";
  const std::string command = "python3 '" + script + "' '" + folder.path() + "' " + std::to_string(kTables);
  ASSERT_EQ(std::system(command.c_str()), 0);
  for (int which = 0; which < kTables; ++which) {
    std::ifstream out(folder / (std::to_string(which) + ".out"), std::ios::binary);
    std::size_t rows = 0, columns = 0;
    out >> rows >> columns;
    Cells expected(rows, std::vector<std::string>(columns));
    for (auto& row : expected)
      for (std::string& cell : row) {
        std::size_t size = 0;
        out >> size;
        cell.resize(size);
        out.get();
        out.read(cell.data(), static_cast<std::streamsize>(size));
      }
    ASSERT_TRUE(out) << which;
    const auto table = parse_csv(texts[static_cast<std::size_t>(which)]);
    ASSERT_TRUE(table) << table.error().describe() << "\n" << texts[static_cast<std::size_t>(which)];
    Cells found = cells_of(table);
    found.insert(found.begin(), table->names());
    EXPECT_EQ(found, expected) << texts[static_cast<std::size_t>(which)];
  }
}

}  // namespace
}  // namespace penstock
