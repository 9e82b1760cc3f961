// The parsed contents of a manifest, and the parsers that fill it.
//
// Manifests may have ten million rows, so a cell is eight bytes that refer to the text of the file. Only cells
// that are escaped in the file are copied.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/result.h"
#include "source/manifest/column_values.h"

namespace penstock {

constexpr std::size_t kManifestColumns = 65'536;
constexpr std::size_t kManifestCellBytes = std::size_t{16} << 20;
constexpr std::uint64_t kManifestBytes = 0xFFFF'FFFF;  // every offset fits 32 bits

class ManifestCell {
 public:
  enum class Form : std::uint8_t {
    kPlain,  // the bytes at `offset` of the file
    kUnescaped,  // the bytes at `offset` of `unescaped`
    kQuoted,  // only while JSON lines are parsed: a string with its quotes
    kEscaped,  // only while JSON lines are parsed: a string with its quotes and escapes
  };

  ManifestCell() = default;
  // length <= kManifestCellBytes; offset <= kManifestBytes.
  ManifestCell(std::size_t offset, std::size_t length, Form form)
      : offset_(static_cast<std::uint32_t>(offset)),
        length_and_form_(static_cast<std::uint32_t>(length) | static_cast<std::uint32_t>(form)
                                                                  << kLengthBits) {}

  std::size_t offset() const { return offset_; }
  std::size_t length() const { return length_and_form_ & ((1u << kLengthBits) - 1); }
  Form form() const { return static_cast<Form>(length_and_form_ >> kLengthBits); }

 private:
  static constexpr unsigned kLengthBits = 30;
  static_assert(kManifestCellBytes < (1u << kLengthBits));
  std::uint32_t offset_ = 0;
  std::uint32_t length_and_form_ = 0;
};

struct ManifestContents {
  std::unique_ptr<char[]> text_memory;  // not a MemoryBlock, so that a sanitizer detects reads beyond its last byte
  std::string_view text;                // the whole file, in text_memory
  std::string unescaped;  // the unescaped cells, concatenated; never longer than the file
  std::vector<std::string> names;
  std::vector<ColumnValues> columns;
  std::vector<ManifestCell> cells;  // row by row
  struct Row {
    std::uint32_t offset = 0;  // offset in the file
    std::uint32_t length = 0;  // without the line ending
  };
  std::vector<Row> rows;

  std::size_t text_begin() const { return text.starts_with("\xEF\xBB\xBF") ? 3 : 0; }

  // Takes the names of the columns after checking them, and reserves memory for as many rows as the text can
  // have.
  Status set_names(std::vector<std::string> found);

  std::string_view view(ManifestCell cell) const {
    const char* base = cell.form() == ManifestCell::Form::kUnescaped ? unescaped.data() : text.data();
    return {base + cell.offset(), cell.length()};
  }
};

// Fails for NUL bytes and invalid UTF-8. The error has no location, because only the caller knows the row.
Status check_manifest_text(std::string_view row);

// The error for a row; `number` is -1 for the header line.
std::unexpected<Error> row_error(Error error, const std::string& uri, ManifestContents::Row row,
                                 std::int64_t number);

// Both parse `contents.text` into the rest of `contents`. A table without rows is not an error here.
Status read_csv(ManifestContents& contents, char separator, const std::string& uri);
Status read_json_lines(ManifestContents& contents, const std::string& uri);

}  // namespace penstock
