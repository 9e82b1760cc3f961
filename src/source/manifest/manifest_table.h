// A CSV or JSON-lines file as columns of typed cells.
//
// CSV follows RFC 4180 (quotes, doubled quotes, line breaks within quotes, CRLF or LF); its first line has the
// names of the columns. The separator is a tab if the name of the file ends in .tsv; otherwise csv_delimiter.h
// finds it. JSON lines have one object per line. The keys of the first line are the columns; each later line must
// have all of them, in any order. Empty lines are skipped. There are no missing values: an empty cell is empty
// text.
//
// A JSON string is text even if it looks like a number; a CSV cell that looks like a number is one, quoted or not.
// A cell of a JSON column is the text of the value in the file, and strings keep their quotes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "penstock/result.h"
#include "source/manifest/column_values.h"
#include "source/manifest/manifest_contents.h"

namespace penstock {

enum class ManifestFormat : std::uint8_t { kCsv, kTsv, kJsonLines };

// Owns a copy of the file. Immutable, so any thread may read it. Move-only. Rows and columns that are passed to
// the accessors must exist.
class ManifestTable {
 public:
  // Errors name `uri`, the byte offset and length of the offending row, and, as the sample, the number of the
  // row (from 0, without header and empty lines; -1 for the header of a CSV). A quote that is never closed is
  // reported at its own offset. A table without rows is kNotFound. `delimiter` is for CSV and TSV; 0: the
  // default of the format.
  static Result<ManifestTable> parse(ConstBytes file, ManifestFormat format, const std::string& uri,
                                     char delimiter = 0);

  std::uint64_t rows() const { return contents_.rows.size(); }
  const std::vector<std::string>& names() const { return contents_.names; }
  ColumnType type(std::size_t column) const { return contents_.columns[column].type(); }
  // The cell as text without quotes, which lives as long as the table.
  std::string_view cell(std::uint64_t row, std::size_t column) const {
    return contents_.view(contents_.cells[row * contents_.names.size() + column]);
  }
  // For kInteger columns.
  std::int64_t integer(std::uint64_t row, std::size_t column) const {
    return contents_.columns[column].integer(row);
  }
  // For kInteger and kReal columns.
  double real(std::uint64_t row, std::size_t column) const { return contents_.columns[column].real(row); }
  std::uint64_t row_offset(std::uint64_t row) const { return contents_.rows[row].offset; }  // offset in the file
  std::uint64_t row_length(std::uint64_t row) const { return contents_.rows[row].length; }

 private:
  explicit ManifestTable(ManifestContents contents) : contents_(std::move(contents)) {}

  ManifestContents contents_;
};

}  // namespace penstock
