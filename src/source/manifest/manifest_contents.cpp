#include "source/manifest/manifest_contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "decode/text.h"

namespace penstock {
namespace {

std::size_t count_filled_lines(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    count += end > at ? 1 : 0;
    at = end + 1;
  }
  return count;
}

}  // namespace

Status ManifestContents::set_names(std::vector<std::string> found) {
  std::vector<std::string_view> sorted(found.begin(), found.end());
  std::ranges::sort(sorted);
  if (sorted.empty()) return fail(ErrorCode::kCorrupt, "the table has no columns");
  if (sorted.front().empty())
    return fail(ErrorCode::kCorrupt,
                "a column has no name; pandas writes such a one for its index: to_csv(..., index=False) "
                "leaves it out");
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return fail(ErrorCode::kCorrupt, fmt::format("two columns are named '{:.64}'", *twice));
  names = std::move(found);
  columns.resize(names.size());
  // A cell takes at least one byte of the file, so a short file with many columns reserves little memory.
  const std::size_t max_rows = std::min(count_filled_lines(text), text.size() / names.size() + 1);
  rows.reserve(max_rows);
  cells.reserve(max_rows * names.size());
  for (ColumnValues& column : columns) column.reserve(max_rows);
  return {};
}

Status check_manifest_text(std::string_view row) {
  // Nearly all rows are ASCII, so eight bytes are checked at a time, and only other rows are checked fully.
  constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101, kHighs = 0x8080'8080'8080'8080;
  std::uint64_t suspect = 0;
  std::size_t at = 0;
  for (; at + 8 <= row.size(); at += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, row.data() + at, 8);
    suspect |= (eight | (eight - kOnes)) & kHighs;
  }
  for (; at < row.size(); ++at) suspect |= row[at] <= 0 ? 1 : 0;
  if (suspect == 0) return {};
  if (row.contains('\0')) return fail(ErrorCode::kCorrupt, "the row has a NUL byte");
  if (!check_utf8(as_bytes(row.data(), row.size())))
    return fail(ErrorCode::kCorrupt, "the row is not valid UTF-8");
  return {};
}

std::unexpected<Error> row_error(Error error, const std::string& uri, ManifestContents::Row row,
                                 std::int64_t number) {
  error.where = {uri, row.offset, row.length, number};
  return std::unexpected(std::move(error));
}

}  // namespace penstock
