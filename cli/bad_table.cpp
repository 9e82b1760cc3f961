#include "bad_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text/public_uri.h"
#include "format.h"

namespace penstock::cli {
namespace {

constexpr std::size_t kColumns = 7;
constexpr std::size_t kOffset = 1, kSample = 3, kWhat = 6;
using Line = std::array<std::string, kColumns>;

// Returns the path relative to the current folder if that is possible, so that it can be typed.
std::string from_here(const std::string& path) {
  std::error_code ignored;
  const std::string here = std::filesystem::current_path(ignored).string() + "/";
  return path.starts_with(here) ? path.substr(here.size()) : path;
}

std::string number(std::int64_t value) { return value < 0 ? "" : fmt::format("{}", value); }

Line line_of(const BadRow& row) {
  const Where& where = row.error.where;
  const std::string file = from_here(without_secrets(where.uri));
  // If each file is one sample, its path already contains the key.
  const std::string key = where.uri.ends_with(row.key) ? "" : row.key;
  return {printable(file),
          number(where.offset),
          number(where.length),
          number(where.sample),
          printable(key),
          row.field,
          printable(row.error.message)};
}

}  // namespace

std::vector<BadRow> rows_of(const Source& source, const std::vector<BadValue>& bad) {
  std::vector<BadRow> rows;
  for (const BadValue& value : bad)
    rows.push_back(
        {value.error, source.key(static_cast<std::uint64_t>(value.error.where.sample)), value.field});
  return rows;
}

std::vector<BadRow> rows_of(const std::vector<Error>& shards) {
  std::vector<BadRow> rows;
  for (const Error& error : shards) rows.push_back({error, "", ""});
  return rows;
}

std::string bad_table(const std::vector<BadRow>& rows, std::uint64_t limit, std::string_view hint) {
  std::vector<Line> lines = {{"file", "offset", "length", "sample", "key", "field", "what is wrong"}};
  for (std::size_t i = 0; i < std::min<std::uint64_t>(rows.size(), limit); ++i)
    lines.push_back(line_of(rows[i]));
  std::string text;
  std::array<std::size_t, kColumns> widths{};
  for (std::size_t column = 0; column < kColumns; ++column) {
    const bool is_empty =
        std::all_of(lines.begin() + 1, lines.end(), [&](const Line& line) { return line[column].empty(); });
    if (is_empty) continue;  // an empty column gets no title
    for (const Line& line : lines) widths[column] = std::max(widths[column], line[column].size());
  }
  for (const Line& line : lines) {
    text += " ";
    for (std::size_t column = 0; column < kColumns; ++column) {
      if (widths[column] == 0) continue;
      const bool is_number = column >= kOffset && column <= kSample;
      text += column == kWhat ? fmt::format(" {}", line[column])
              : is_number     ? fmt::format(" {:>{}} ", line[column], widths[column])
                              : fmt::format(" {:<{}} ", line[column], widths[column]);
    }
    text += "\n";
  }
  if (rows.size() > limit)
    text += fmt::format("  and {} more ({})\n", with_commas(rows.size() - limit), hint);
  return text;
}

nlohmann::ordered_json to_json(const std::vector<BadRow>& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  const auto or_null = [](std::int64_t value) {
    return value < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
  };
  for (const BadRow& row : rows) {
    const Where& where = row.error.where;
    nlohmann::ordered_json one = {{"file", without_secrets(where.uri)},
                                  {"offset", or_null(where.offset)},
                                  {"length", or_null(where.length)},
                                  {"sample", or_null(where.sample)},
                                  {"key", nullptr},
                                  {"field", nullptr},
                                  {"message", row.error.message}};
    if (!row.key.empty()) one["key"] = row.key;
    if (!row.field.empty()) one["field"] = row.field;
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace penstock::cli
