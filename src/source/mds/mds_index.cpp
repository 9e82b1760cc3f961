#include "source/mds/mds_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/memory/opening_memory.h"
#include "base/text/lower_case.h"
#include "decode/text.h"
#include "penstock/interruption.h"
#include "source/zarr/metadata/metadata_object.h"
#include "source/zarr/metadata/zarr_json.h"
#include "store/object_key.h"

namespace penstock {
namespace {

constexpr std::uint64_t kJsonBytesPerByte = 20;
constexpr std::size_t kMaxMdsColumns = 1024;
constexpr std::int64_t kMdsVersion = 2;

using nlohmann::json;

// Reads one shard of the list. Messages begin with its number.
class ShardReader {
 public:
  ShardReader(const json& object, std::size_t number, const std::string& uri, MdsIndex& index)
      : object_(object),
        number_(number),
        uri_(uri),
        index_(index) {}

  Status read() {
    if (!object_.is_object()) return bad(ErrorCode::kCorrupt, "is not an object");
    PENSTOCK_CHECK(check_format());
    MdsShard shard;
    const json* raw = find_member(object_, "raw_data");
    if (raw == nullptr) return bad(ErrorCode::kCorrupt, "has no raw_data");
    PENSTOCK_CHECK(read_file(*raw, "raw_data", shard.raw));
    const json* compression = find_member(object_, "compression");
    if (compression != nullptr && !compression->is_null()) {
      PENSTOCK_CHECK(check_compression(*compression));
      const json* compressed = find_member(object_, "zip_data");
      if (compressed == nullptr || compressed->is_null())
        return bad(ErrorCode::kCorrupt, "is compressed and has no zip_data");
      PENSTOCK_CHECK(read_file(*compressed, "zip_data", shard.compressed.emplace()));
    }
    const auto samples = number_of("samples", INT64_C(0xFFFFFFFE));
    if (!samples) return std::unexpected(samples.error());
    shard.samples = *samples;
    PENSTOCK_CHECK(read_columns(shard));
    index_.shards.push_back(std::move(shard));
    return {};
  }

 private:
  std::unexpected<Error> bad(ErrorCode code, std::string_view what) const {
    return fail(code, fmt::format("shard {} of the MDS index {}", number_, what), {uri_, -1, -1, -1});
  }

  Status check_format() const {
    const json* version = find_member(object_, "version");
    if (version == nullptr || *version != kMdsVersion)
      return bad(ErrorCode::kUnsupported, fmt::format("has version {}; version {} is read",
                                                      version ? short_text(*version) : "none", kMdsVersion));
    const json* format = find_member(object_, "format");
    if (format == nullptr || *format != "mds")
      return bad(ErrorCode::kUnsupported,
                 fmt::format("has the format {}; \"mds\" is read", format ? short_text(*format) : "none"));
    return {};
  }

  // "zstd", or "zstd:7" with the level that it was written with.
  Status check_compression(const json& compression) const {
    const std::string text = compression.is_string() ? compression.get<std::string>() : "";
    const std::string name = text.substr(0, text.find(':'));
    if (name == "zstd" || name == "gz") return {};
    return bad(ErrorCode::kUnsupported,
               fmt::format("has the compression {}; zstd and gz are read", short_text(compression)));
  }

  Result<std::uint64_t> number_of(std::string_view key, std::int64_t most) const {
    const json* value = find_member(object_, key);
    return value == nullptr ? bad(ErrorCode::kCorrupt, fmt::format("has no {}", key)) : whole_number(*value, key, most);
  }

  Result<std::uint64_t> whole_number(const json& value, std::string_view key, std::int64_t most) const {
    const bool fits = value.is_number_integer() && (value.is_number_unsigned() || value.get<std::int64_t>() >= 0) &&
                      value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
    if (!fits) return bad(ErrorCode::kCorrupt, fmt::format("has the {} {}", key, short_text(value)));
    return value.get<std::uint64_t>();
  }

  Status read_file(const json& object, std::string_view what, MdsFile& file) const {
    const json* name = find_member(object, "basename");
    if (name == nullptr || !name->is_string()) return bad(ErrorCode::kCorrupt, fmt::format("has a {} without a basename", what));
    file.name = name->get<std::string>();
    if (!is_node_name(file.name))
      return bad(ErrorCode::kCorrupt, fmt::format("names the file {}, which may lead out of its folder", short_text(*name)));
    const json* size = find_member(object, "bytes");
    if (size == nullptr) return bad(ErrorCode::kCorrupt, fmt::format("has a {} without bytes", what));
    const auto bytes = whole_number(*size, "bytes", INT64_MAX);
    if (!bytes) return std::unexpected(bytes.error());
    file.size_bytes = *bytes;
    const json* hashes = find_member(object, "hashes");
    if (hashes == nullptr || hashes->is_null()) return {};
    if (!hashes->is_object()) return bad(ErrorCode::kCorrupt, "has hashes that are not an object");
    for (const auto& [algorithm, digest] : hashes->items()) {
      if (!digest.is_string()) return bad(ErrorCode::kCorrupt, fmt::format("has the {} hash {}", algorithm, short_text(digest)));
      file.hashes.push_back({algorithm, lower_case(digest.get<std::string>())});
    }
    return {};
  }

  Result<const json*> list_of(std::string_view key) const {
    const json* list = find_member(object_, key);
    if (list == nullptr || !list->is_array()) return bad(ErrorCode::kCorrupt, fmt::format("has no list of {}", key));
    return list;
  }

  Status read_columns(MdsShard& shard) {
    const auto names = list_of("column_names"), encodings = list_of("column_encodings"), sizes = list_of("column_sizes");
    for (const auto* list : {&names, &encodings, &sizes})
      if (!*list) return std::unexpected(list->error());
    if ((*names)->size() != (*encodings)->size() || (*names)->size() != (*sizes)->size())
      return bad(ErrorCode::kCorrupt, "has lists of columns of different length");
    if ((*names)->empty()) return bad(ErrorCode::kCorrupt, "has no columns");
    if ((*names)->size() > kMaxMdsColumns)
      return bad(ErrorCode::kTooLarge, fmt::format("has {} columns, at most {} are read", (*names)->size(), kMaxMdsColumns));
    std::vector<MdsColumn> columns;
    for (std::size_t i = 0; i < (*names)->size(); ++i) {
      const json &name = (**names)[i], &encoding = (**encodings)[i], &size = (**sizes)[i];
      if (!name.is_string() || !encoding.is_string()) return bad(ErrorCode::kCorrupt, "has a column without a name or an encoding");
      MdsColumn column{name.get<std::string>(), encoding.get<std::string>(), 0};
      if (std::ranges::find(columns, column.name, &MdsColumn::name) != columns.end())
        return bad(ErrorCode::kCorrupt, fmt::format("has the column {} twice", short_text(name)));
      if (!size.is_null()) {
        const auto bytes = whole_number(size, "column size", UINT32_MAX);
        if (!bytes) return std::unexpected(bytes.error());
        column.size_bytes = static_cast<std::uint32_t>(*bytes);
      }
      columns.push_back(std::move(column));
    }
    const auto known = std::ranges::find(index_.layouts, columns);
    shard.layout = static_cast<std::size_t>(known - index_.layouts.begin());
    if (known != index_.layouts.end()) return {};
    // Merged data sets have a few layouts. Comparing with thousands of them would take forever.
    if (index_.layouts.size() == kMaxMdsColumns)
      return bad(ErrorCode::kTooLarge, fmt::format("has other columns than {} shards before it", kMaxMdsColumns));
    index_.layouts.push_back(std::move(columns));
    return {};
  }

  const json& object_;
  const std::size_t number_;
  const std::string& uri_;
  MdsIndex& index_;
};

}  // namespace

bool is_mds_index(ConstBytes text) {
  OpeningReservation memory;
  // Without memory nothing is known; opening it as an index then says so.
  if (!memory.add(text.size() * kJsonBytesPerByte, "the parsed MDS index", {})) return true;
  if (!check_json(text)) return false;
  const auto* begin = reinterpret_cast<const char*>(text.data());
  const json parsed = json::parse(begin, begin + text.size(), nullptr, false);
  const json* shards = find_member(parsed, "shards");
  return find_member(parsed, "version") != nullptr && shards != nullptr && shards->is_array();
}

Result<MdsIndex> parse_mds_index(ConstBytes text, const std::string& uri) {
  OpeningReservation memory;
  PENSTOCK_CHECK(memory.add(text.size() * kJsonBytesPerByte, "the parsed MDS index", {uri, -1, -1, -1}));
  if (auto checked = check_json(text); !checked) {
    Error error = std::move(checked).error();
    error.where.uri = uri;
    return std::unexpected(std::move(error));
  }
  const auto* begin = reinterpret_cast<const char*>(text.data());
  const json parsed = json::parse(begin, begin + text.size(), nullptr, false);
  const json* version = find_member(parsed, "version");
  const json* shards = find_member(parsed, "shards");
  if (version == nullptr || shards == nullptr || !shards->is_array())
    return fail(ErrorCode::kCorrupt, "not an MDS index: it has no version and list of shards", {uri, -1, -1, -1});
  if (*version != kMdsVersion)
    return fail(ErrorCode::kUnsupported,
                fmt::format("MDS index of version {}; version {} is read", short_text(*version), kMdsVersion),
                {uri, -1, -1, -1});
  MdsIndex index;
  for (std::size_t i = 0; i < shards->size(); ++i) {
    PENSTOCK_CHECK(check_interruption(uri));
    PENSTOCK_CHECK(ShardReader((*shards)[i], i, uri, index).read());
  }
  return index;
}

}  // namespace penstock
