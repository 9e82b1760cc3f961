#include "source/manifest/manifest_table.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

#include "source/manifest/csv_delimiter.h"

namespace penstock {
namespace {

Status read_csv_as_found(ManifestContents& contents, const std::string& uri) {
  const auto delimiter = find_csv_delimiter(contents.text.substr(contents.text_begin()), uri);
  if (!delimiter) return std::unexpected(delimiter.error());
  return read_csv(contents, *delimiter, uri);
}

Status read(ManifestContents& contents, ManifestFormat format, const std::string& uri, char delimiter) {
  switch (format) {
    case ManifestFormat::kCsv:
      return delimiter != 0 ? read_csv(contents, delimiter, uri) : read_csv_as_found(contents, uri);
    case ManifestFormat::kTsv: return read_csv(contents, delimiter != 0 ? delimiter : '\t', uri);
    case ManifestFormat::kJsonLines: return read_json_lines(contents, uri);
  }
  return fail(ErrorCode::kInvalidArgument, "no such format of tables", {uri});
}

std::unexpected<Error> no_memory(ConstBytes file, const std::string& uri) {
  return fail(ErrorCode::kNoMemory, fmt::format("no memory for a table of {} bytes", file.size()), {uri});
}

}  // namespace

Result<ManifestTable> ManifestTable::parse(ConstBytes file, ManifestFormat format, const std::string& uri,
                                           char delimiter) try {
  if (file.size() > kManifestBytes)
    return fail(ErrorCode::kTooLarge,
                fmt::format("a table of {} bytes, at most {} are read", file.size(), kManifestBytes), {uri});
  ManifestContents contents;
  contents.text_memory = std::make_unique_for_overwrite<char[]>(file.size());
  if (!file.empty()) std::memcpy(contents.text_memory.get(), file.data(), file.size());
  contents.text = {contents.text_memory.get(), file.size()};
  PENSTOCK_CHECK(read(contents, format, uri, delimiter));
  if (contents.rows.empty())
    return fail(ErrorCode::kNotFound, "the table has no rows",
                {uri, 0, static_cast<std::int64_t>(file.size()), -1});
  return ManifestTable(std::move(contents));
} catch (const std::bad_alloc&) {
  return no_memory(file, uri);
} catch (const std::length_error&) {
  return no_memory(file, uri);
}

}  // namespace penstock
