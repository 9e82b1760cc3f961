// Parses CSV (RFC 4180). Like Python's csv module, it also accepts a quote inside an unquoted cell as a literal
// character.
#include <fmt/format.h>

#include <utility>

#include "penstock/interruption.h"
#include "source/manifest/manifest_contents.h"

namespace penstock {
namespace {

struct CsvCell {
  std::size_t offset = 0, length = 0;  // of the text within the quotes
  bool doubled_quotes = false;
};

class CsvReader {
 public:
  CsvReader(ManifestContents& contents, char separator, const std::string& uri)
      : contents_(contents),
        text_(contents.text),
        separator_(separator),
        uri_(uri),
        at_(contents.text_begin()) {}

  Status read() {
    if (!skip_empty_lines()) return {};
    PENSTOCK_CHECK(read_names());
    while (skip_empty_lines()) PENSTOCK_CHECK(read_row());
    return check_interruption(uri_);
  }

 private:
  using Row = ManifestContents::Row;

  bool skip_empty_lines() {
    while (at_ < text_.size() && at_line_end() && !stops()) to_next_line();
    return at_ < text_.size() && !stops();
  }

  bool stops() { return check_.is_due() && Interruption::is_requested(); }

  // A CR ends a line only before an LF or at the end of the file.
  bool at_line_end() const {
    if (at_ == text_.size() || text_[at_] == '\n') return true;
    return text_[at_] == '\r' && (at_ + 1 == text_.size() || text_[at_ + 1] == '\n');
  }

  void to_next_line() {
    if (at_ < text_.size() && text_[at_] == '\r') ++at_;
    if (at_ < text_.size()) ++at_;
  }

  Status read_names() {
    std::vector<std::string> names;
    std::size_t count = 0;
    const auto row = scan_row([&](const CsvCell& cell) {
      if (++count > kManifestColumns) return;
      names.emplace_back();
      append(cell, names.back());
    });
    if (!row) return std::unexpected(row.error());
    if (count > kManifestColumns)
      return row_error(
          {ErrorCode::kTooLarge, fmt::format("{} columns, at most {} are read", count, kManifestColumns), {}},
          uri_, *row, -1);
    if (const Status sound = contents_.set_names(std::move(names)); !sound)
      return row_error(sound.error(), uri_, *row, -1);
    return {};
  }

  Status read_row() {
    const std::size_t columns = contents_.names.size();
    std::size_t count = 0;
    const auto row = scan_row([&](const CsvCell& cell) {
      if (count < columns) {
        contents_.cells.push_back(stored_cell(cell));
        contents_.columns[count].add_cell(contents_.view(contents_.cells.back()));
      }
      ++count;
    });
    if (!row) return std::unexpected(row.error());
    if (count != columns)
      return row_error({ErrorCode::kCorrupt,
                        fmt::format("the row has {} cells, the table {} columns", count, columns),
                        {}},
                       uri_, *row, row_number());
    contents_.rows.push_back(*row);
    return {};
  }

  std::int64_t row_number() const {
    return contents_.names.empty() ? -1 : static_cast<std::int64_t>(contents_.rows.size());
  }

  // Reads a row to its end even if it has an error, so that the error can state its length.
  template <typename OnCell>
  Result<Row> scan_row(OnCell on_cell) {
    const std::size_t begin = at_;
    Error first_problem;
    bool sound = true;
    const auto object = [&](ErrorCode code, std::string message) {
      if (std::exchange(sound, false)) first_problem = {code, std::move(message), {}};
    };
    while (true) {
      PENSTOCK_CHECK(check_(uri_));
      CsvCell cell;
      if (at_ < text_.size() && text_[at_] == '"') {
        const std::size_t opening = at_;
        if (!scan_quoted(cell))
          return row_error({ErrorCode::kCorrupt, "a quote is never closed", {}}, uri_,
                           {narrow(opening), narrow(text_.size() - opening)}, row_number());
        if (!at_line_end() && text_[at_] != separator_) {
          object(ErrorCode::kCorrupt, "text follows a closing quote");
          skip_plain();
        }
      } else {
        cell.offset = at_;
        skip_plain();
        cell.length = at_ - cell.offset;
      }
      if (cell.length > kManifestCellBytes)
        object(ErrorCode::kTooLarge,
               fmt::format("a cell of {} bytes, at most {} are read", cell.length, kManifestCellBytes));
      if (sound) on_cell(cell);
      if (at_line_end()) break;
      ++at_;
    }
    const Row row{narrow(begin), narrow(at_ - begin)};
    to_next_line();
    if (!sound) return row_error(std::move(first_problem), uri_, row, row_number());
    if (const Status text = check_manifest_text(text_.substr(begin, row.length)); !text)
      return row_error(text.error(), uri_, row, row_number());
    return row;
  }

  static std::uint32_t narrow(std::size_t value) { return static_cast<std::uint32_t>(value); }

  // Reads to the separator or the end of the line.
  void skip_plain() {
    const std::size_t begin = at_;
    const char* scan = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    while (scan != end && *scan != separator_ && *scan != '\n') ++scan;
    at_ = static_cast<std::size_t>(scan - text_.data());
    if (at_ > begin && text_[at_ - 1] == '\r' && (scan == end || *scan == '\n')) --at_;
  }

  // Reads from the opening quote to behind the closing one; returns false if there is none.
  bool scan_quoted(CsvCell& cell) {
    cell.offset = at_ + 1;
    for (std::size_t from = cell.offset;;) {
      const std::size_t quote = text_.find('"', from);
      if (quote == std::string_view::npos) return false;
      if (quote + 1 == text_.size() || text_[quote + 1] != '"') {
        cell.length = quote - cell.offset;
        at_ = quote + 1;
        return true;
      }
      cell.doubled_quotes = true;
      from = quote + 2;
    }
  }

  ManifestCell stored_cell(const CsvCell& cell) {
    if (!cell.doubled_quotes) return {cell.offset, cell.length, ManifestCell::Form::kPlain};
    const std::size_t offset = contents_.unescaped.size();
    append(cell, contents_.unescaped);
    return {offset, contents_.unescaped.size() - offset, ManifestCell::Form::kUnescaped};
  }

  void append(const CsvCell& cell, std::string& out) const {
    std::string_view left = text_.substr(cell.offset, cell.length);
    while (cell.doubled_quotes) {
      const std::size_t quote = left.find('"');
      if (quote == std::string_view::npos) break;
      out.append(left.substr(0, quote + 1));
      left.remove_prefix(quote + 2);
    }
    out.append(left);
  }

  ManifestContents& contents_;
  const std::string_view text_;
  const char separator_;
  const std::string& uri_;
  std::size_t at_;
  InterruptionCheck check_;
};

}  // namespace

Status read_csv(ManifestContents& contents, char separator, const std::string& uri) {
  return CsvReader(contents, separator, uri).read();
}

}  // namespace penstock
