#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "decode/text.h"
#include "source/manifest/manifest_table.h"

namespace {

using namespace penstock;
using nlohmann::json;

void demand(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

void check_places(const ManifestTable& table, std::size_t size) {
  std::uint64_t before = 0;
  for (std::uint64_t row = 0; row < table.rows(); ++row) {
    demand(table.row_offset(row) >= before && table.row_length(row) > 0, "rows in order");
    before = table.row_offset(row) + table.row_length(row);
    demand(before <= size, "rows within the file");
  }
}

// Every cell quoted: another spelling of the same table.
std::string rewritten(const ManifestTable& table, char separator) {
  std::string text;
  const auto put = [&](std::string_view cell, bool last) {
    text += '"';
    for (const char letter : cell) text += letter == '"' ? std::string("\"\"") : std::string(1, letter);
    text += '"';
    text += last ? '\n' : separator;
  };
  const std::size_t columns = table.names().size();
  for (std::size_t i = 0; i < columns; ++i) put(table.names()[i], i + 1 == columns);
  for (std::uint64_t row = 0; row < table.rows(); ++row)
    for (std::size_t i = 0; i < columns; ++i) put(table.cell(row, i), i + 1 == columns);
  return text;
}

void check_rewritten(const ManifestTable& table, ManifestFormat format) {
  const std::string text = rewritten(table, format == ManifestFormat::kTsv ? '\t' : ',');
  const auto again = ManifestTable::parse(as_bytes(text.data(), text.size()), format, "fuzz");
  demand(again.has_value(), "a rewritten table is a table");
  demand(again->rows() == table.rows() && again->names() == table.names(), "rewritten, the same size");
  for (std::size_t column = 0; column < table.names().size(); ++column) {
    demand(again->type(column) == table.type(column), "rewritten, the same types");
    for (std::uint64_t row = 0; row < table.rows(); ++row)
      demand(again->cell(row, column) == table.cell(row, column), "rewritten, the same cells");
  }
}

// The rows as nlohmann reads them; nothing where a line is not what a table may have.
std::optional<std::vector<json>> reference_rows(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<json> rows;
  std::set<std::string> first_keys;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (line.starts_with("\xEF\xBB\xBF") || !check_json(as_bytes(line.data(), line.size()))) return {};
    rows.push_back(json::parse(line));
    if (!rows.back().is_object() || rows.back().empty()) return {};
    std::set<std::string> keys;
    for (const auto& [key, value] : rows.back().items()) {
      const bool nul = value.is_string() && value.get_ref<const std::string&>().contains('\0');
      if (key.empty() || key.contains('\0') || nul) return {};
      keys.insert(key);
    }
    if (rows.size() == 1) first_keys = keys;
    if (keys != first_keys) return {};
  }
  if (rows.empty()) return {};
  return rows;
}

void check_against(const std::vector<json>& rows, const ManifestTable& table) {
  demand(rows.size() == table.rows(), "as many rows as nlohmann");
  for (std::uint64_t row = 0; row < table.rows(); ++row)
    for (std::size_t column = 0; column < table.names().size(); ++column) {
      const json& value = rows[row].at(table.names()[column]);
      const ColumnType type = table.type(column);
      const std::string_view cell = table.cell(row, column);
      if (type == ColumnType::kText && value.is_string()) {
        demand(value.get_ref<const std::string&>() == cell, "the text that nlohmann reads");
      } else {
        demand(json::parse(cell) == value, "the value that nlohmann reads");
      }
      if (type == ColumnType::kInteger)
        demand(value.is_number_integer() && value.get<std::int64_t>() == table.integer(row, column),
               "integers");
      if (type == ColumnType::kReal)
        demand(value.is_number() && value.get<double>() == table.real(row, column), "reals");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // The first letter of the input chooses: 'c', 't' and 'j' of the seeds, any other by its remainder.
  static constexpr ManifestFormat kFormats[] = {ManifestFormat::kCsv, ManifestFormat::kJsonLines,
                                                ManifestFormat::kTsv};
  const ManifestFormat format = kFormats[data[0] % 3];  // c = 99, j = 106, t = 116
  const ConstBytes file = as_bytes(data + 1, size - 1);
  const auto table = ManifestTable::parse(file, format, "fuzz");
  if (table) {
    check_places(*table, file.size());
  } else {
    demand(table.error().where.uri == "fuzz", "errors name the file");
  }
  if (format == ManifestFormat::kJsonLines) {
    const auto rows = reference_rows({reinterpret_cast<const char*>(file.data()), file.size()});
    demand(table || !rows, "a table where nlohmann reads one");
    if (table && rows) check_against(*rows, *table);
    // check_json counts the row itself as a level of nesting, so the converse has that one exception.
    const bool deep = std::count(data, data + size, '[') + std::count(data, data + size, '{') > 250;
    demand(!table || rows || deep, "no table where nlohmann reads none");
  } else if (table) {
    check_rewritten(*table, format);
  }
  return 0;
}
