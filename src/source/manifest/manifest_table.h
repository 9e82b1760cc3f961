// A CSV or JSON-lines file as columns of typed cells.
//
// CSV is RFC 4180 (quotes, doubled quotes, line breaks within quotes, CRLF or LF), first line = names;
// the separator is a tab where the file's name ends in .tsv, else what csv_delimiter.h finds. JSON lines:
// one object per line; keys of the first line are the columns, later lines may have them in any order but
// must have them all. Empty lines are skipped; there are no missing values: an empty cell is empty text.
//
// A JSON string is text even where it looks like a number; a cell of CSV is a number where it looks
// like one, quoted or not. A cell of a JSON column is the value as the file has it, strings quoted.
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

// Owns a copy of the file; never changes, so any thread may read it. Move-only. Rows and columns that
// the accessors are asked for exist.
class ManifestTable {
 public:
  // Errors name `uri`, the byte offset and length of the offending row, and its number (from 0, names
  // and empty lines not counted; -1 for the names of a CSV) as sample. A quote that is never closed is
  // at its own offset, not the row's. A table without rows is kNotFound.
  // `delimiter` is for CSV and TSV; 0: the format's own.
  static Result<ManifestTable> parse(ConstBytes file, ManifestFormat format, const std::string& uri,
                                     char delimiter = 0);

  std::uint64_t rows() const { return contents_.rows.size(); }
  const std::vector<std::string>& names() const { return contents_.names; }
  ColumnType type(std::size_t column) const { return contents_.columns[column].type(); }
  // As text, unquoted; lives as long as the table.
  std::string_view cell(std::uint64_t row, std::size_t column) const {
    return contents_.view(contents_.cells[row * contents_.names.size() + column]);
  }
  // kInteger columns.
  std::int64_t integer(std::uint64_t row, std::size_t column) const {
    return contents_.columns[column].integer(row);
  }
  // kInteger and kReal columns.
  double real(std::uint64_t row, std::size_t column) const { return contents_.columns[column].real(row); }
  std::uint64_t row_offset(std::uint64_t row) const { return contents_.rows[row].offset; }  // in the file
  std::uint64_t row_length(std::uint64_t row) const { return contents_.rows[row].length; }

 private:
  explicit ManifestTable(ManifestContents contents) : contents_(std::move(contents)) {}

  ManifestContents contents_;
};

}  // namespace penstock
