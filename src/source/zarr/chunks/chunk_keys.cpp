#include "source/zarr/chunks/chunk_keys.h"

#include <fmt/format.h>

namespace penstock {
namespace {

Result<char> read_separator(const Json* value, char otherwise, std::string_view what,
                            const std::string& uri) {
  if (value == nullptr) return otherwise;
  if (value->is_string()) {
    const std::string& text = value->get_ref<const std::string&>();
    if (text == "." || text == "/") return text[0];
  }
  return bad_metadata(ErrorCode::kCorrupt, fmt::format("{}: {} is neither . nor /", what, short_text(*value)),
                      uri);
}

}  // namespace

std::string ChunkKeys::key(const Shape& position) const {
  std::string key = has_prefix ? "c" : "";
  for (const std::int64_t index : position) {
    if (!key.empty()) key += separator;
    key += std::to_string(index);
  }
  return key.empty() ? "0" : key;  // version 2 names the only chunk of an array without dimensions "0"
}

Result<ChunkKeys> read_v2_chunk_keys(const Json& zarray, const std::string& uri) {
  const Json* value = find_member(zarray, "dimension_separator");
  if (value != nullptr && value->is_null()) value = nullptr;
  const auto separator = read_separator(value, '.', "dimension_separator", uri);
  if (!separator) return std::unexpected(separator.error());
  return ChunkKeys{false, *separator};
}

Result<ChunkKeys> read_v3_chunk_keys(const Json* chunk_key_encoding, const std::string& uri) {
  const auto named = read_named(chunk_key_encoding, "chunk_key_encoding", uri);
  if (!named) return std::unexpected(named.error());
  const bool is_default = named->name == "default";
  if (!is_default && named->name != "v2")
    return bad_metadata(ErrorCode::kUnsupported, "chunk_key_encoding " + short_text(named->name), uri);
  const auto separator = read_separator(find_member(named->configuration, "separator"),
                                        is_default ? '/' : '.', "chunk_key_encoding", uri);
  if (!separator) return std::unexpected(separator.error());
  return ChunkKeys{is_default, *separator};
}

}  // namespace penstock
