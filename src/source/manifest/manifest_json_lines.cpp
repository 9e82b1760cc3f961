// Parses JSON lines: one object per line, each with the keys of the first one.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "penstock/interruption.h"
#include "source/manifest/json_object_reader.h"
#include "source/manifest/json_string.h"
#include "source/manifest/manifest_contents.h"

namespace penstock {
namespace {

class JsonLinesReader {
 public:
  JsonLinesReader(ManifestContents& contents, const std::string& uri)
      : contents_(contents),
        uri_(uri),
        at_(contents.text_begin()) {}

  Status read() {
    InterruptionCheck check;
    while (next_line()) {
      PENSTOCK_CHECK(check(uri_));
      Status status = check_manifest_text(line_);
      if (status && contents_.names.empty()) status = take_names();
      if (status) status = read_row();
      if (!status)
        return row_error(std::move(status).error(), uri_, row_,
                         static_cast<std::int64_t>(contents_.rows.size()));
      contents_.rows.push_back(row_);
    }
    unquote_text_columns();
    return {};
  }

 private:
  using Form = ManifestCell::Form;

  // Moves to the next line that is not blank; returns false at the end.
  bool next_line() {
    const std::string_view text = contents_.text;
    while (at_ < text.size()) {
      const std::size_t begin = at_, end = std::min(text.find('\n', at_), text.size());
      at_ = end + 1;
      line_ = text.substr(begin, end - begin);
      if (line_.ends_with('\r')) line_.remove_suffix(1);
      if (line_.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      row_ = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(line_.size())};
      return true;
    }
    return false;
  }

  Status take_names() {
    std::vector<std::string> names;
    JsonObjectReader object(line_);
    JsonMember member;
    while (true) {
      const auto more = object.next(member);
      if (!more) return std::unexpected(more.error());
      if (!*more) break;
      if (names.size() == kManifestColumns)
        return fail(ErrorCode::kTooLarge, fmt::format("more than {} columns", kManifestColumns));
      const auto key = key_of(member);
      if (!key) return std::unexpected(key.error());
      names.emplace_back(*key);
    }
    PENSTOCK_CHECK(contents_.set_names(std::move(names)));
    by_name_.resize(contents_.names.size());
    std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
    std::ranges::sort(by_name_, {},
                      [&](std::size_t column) -> const auto& { return contents_.names[column]; });
    rows_with_.resize(contents_.names.size());
    return {};
  }

  Status read_row() {
    const std::size_t columns = contents_.names.size();
    const std::size_t first_cell = contents_.cells.size();
    contents_.cells.resize(first_cell + columns);
    JsonObjectReader object(line_);
    JsonMember member;
    std::size_t expected = 0;
    for (std::size_t count = 0;; ++count) {
      const auto more = object.next(member);
      if (!more) return std::unexpected(more.error());
      if (!*more && count == columns) return {};
      if (!*more) return fail(ErrorCode::kCorrupt, fmt::format("no key '{:.64}'", first_missing()));
      const auto key = key_of(member);
      if (!key) return std::unexpected(key.error());
      const std::size_t column = find_column(*key, expected);
      if (column == columns)
        return fail(ErrorCode::kCorrupt, fmt::format("the key '{:.64}', which the first row has not", *key));
      if (rows_with_[column]++ != contents_.rows.size())
        return fail(ErrorCode::kCorrupt, fmt::format("the key '{:.64}' twice", *key));
      PENSTOCK_CHECK(add_value(member, contents_.columns[column], contents_.cells[first_cell + column]));
      expected = column + 1;
    }
  }

  // The result is borrowed until the next call.
  Result<std::string_view> key_of(const JsonMember& member) {
    if (member.key.size() > kManifestCellBytes)
      return fail(ErrorCode::kTooLarge, fmt::format("a key of {} bytes", member.key.size()));
    if (!member.key_is_escaped) return member.key;
    PENSTOCK_CHECK(unescape(member.key, key_));
    return key_;
  }

  static Status unescape(std::string_view between_quotes, std::string& out) {
    out.clear();
    if (!append_unescaped(between_quotes, out)) return fail(ErrorCode::kCorrupt, "a string has a bad escape");
    if (out.contains('\0')) return fail(ErrorCode::kCorrupt, "a string has a NUL byte");
    return {};
  }

  // Most rows have their keys in the order of the first row, so the column after the last one is tried first.
  std::size_t find_column(std::string_view key, std::size_t expected) const {
    const auto& names = contents_.names;
    if (expected < names.size() && names[expected] == key) return expected;
    const auto name_of = [&](std::size_t column) { return std::string_view(names[column]); };
    const auto found = std::ranges::lower_bound(by_name_, key, {}, name_of);
    return found != by_name_.end() && names[*found] == key ? *found : names.size();
  }

  std::string_view first_missing() const {
    const auto missing = std::ranges::find(rows_with_, contents_.rows.size());
    return contents_.names[static_cast<std::size_t>(missing - rows_with_.begin())];
  }

  Status add_value(const JsonMember& member, ColumnValues& column, ManifestCell& cell) {
    if (member.value.size() > kManifestCellBytes)
      return fail(ErrorCode::kTooLarge, fmt::format("a value of {} bytes, at most {} are read",
                                                    member.value.size(), kManifestCellBytes));
    Form form = Form::kPlain;
    if (member.kind == JsonMember::Kind::kString) {
      form = member.value_is_escaped ? Form::kEscaped : Form::kQuoted;
      if (member.value_is_escaped)
        PENSTOCK_CHECK(unescape(member.value.substr(1, member.value.size() - 2), scratch_));
      column.add_text();
    } else if (member.kind == JsonMember::Kind::kOther) {
      column.add_json();
    } else if (!column.add_number(member.value)) {
      return fail(ErrorCode::kCorrupt, "a number beyond what 64 bits hold");
    }
    cell = {static_cast<std::size_t>(member.value.data() - contents_.text.data()), member.value.size(), form};
    return {};
  }

  // Strings keep their quotes in a JSON column only, which is known after the last row.
  void unquote_text_columns() {
    std::vector<std::size_t> text_columns;
    for (std::size_t column = 0; column < contents_.columns.size(); ++column)
      if (contents_.columns[column].type() == ColumnType::kText) text_columns.push_back(column);
    for (std::size_t row = 0; row < contents_.rows.size(); ++row)
      for (const std::size_t column : text_columns)
        unquote(contents_.cells[row * contents_.columns.size() + column]);
  }

  void unquote(ManifestCell& cell) {
    if (cell.form() == Form::kQuoted) cell = {cell.offset() + 1, cell.length() - 2, Form::kPlain};
    if (cell.form() != Form::kEscaped) return;
    const std::size_t offset = contents_.unescaped.size();
    append_unescaped(contents_.text.substr(cell.offset() + 1, cell.length() - 2), contents_.unescaped);
    cell = {offset, contents_.unescaped.size() - offset, Form::kUnescaped};
  }

  ManifestContents& contents_;
  const std::string& uri_;
  std::size_t at_;
  std::string_view line_;
  ManifestContents::Row row_;
  std::vector<std::size_t> by_name_;      // columns, sorted by their names
  std::vector<std::uint64_t> rows_with_;  // per column: the number of rows that have its key
  std::string key_, scratch_;
};

}  // namespace

Status read_json_lines(ManifestContents& contents, const std::string& uri) {
  return JsonLinesReader(contents, uri).read();
}

}  // namespace penstock
