// Tables parsed from texts, for the tests of manifests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "source/manifest/manifest_table.h"

namespace penstock {

using Cells = std::vector<std::vector<std::string>>;

inline Result<ManifestTable> parse(std::string_view text, ManifestFormat format) {
  return ManifestTable::parse(as_bytes(text.data(), text.size()), format, "store/table");
}
inline Result<ManifestTable> parse_csv(std::string_view text) { return parse(text, ManifestFormat::kCsv); }
inline Result<ManifestTable> parse_json(std::string_view text) { return parse(text, ManifestFormat::kJsonLines); }

inline Cells cells_of(const Result<ManifestTable>& table) {
  Cells cells;
  if (!table) {
    ADD_FAILURE() << table.error().describe();
    return cells;
  }
  for (std::uint64_t row = 0; row < table->rows(); ++row) {
    cells.emplace_back();
    for (std::size_t column = 0; column < table->names().size(); ++column)
      cells.back().emplace_back(table->cell(row, column));
  }
  return cells;
}

inline void expect_error(const Result<ManifestTable>& table, ErrorCode code, std::string_view part,
                         std::int64_t offset, std::int64_t length, std::int64_t row) {
  ASSERT_FALSE(table);
  const Error& error = table.error();
  EXPECT_EQ(error.code, code) << error.message;
  EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  EXPECT_EQ(error.where.uri, "store/table");
  EXPECT_EQ(error.where.offset, offset) << error.message;
  EXPECT_EQ(error.where.length, length) << error.message;
  EXPECT_EQ(error.where.sample, row) << error.message;
}

}  // namespace penstock
