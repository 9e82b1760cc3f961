#include "source/zarr/metadata/zarr_metadata.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/checked_math.h"
#include "base/limits.h"
#include "source/zarr/metadata/zarr_type.h"

namespace penstock {
namespace {

// Half of the range of int64, so that an extent and a chunk can be added without an overflow.
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 62;

// Ensures that offsets of elements, in elements or bytes, can be computed without checks. An array without
// elements must meet the same limits with its other extents. Some writers divide an axis without entries into
// chunks without entries; no other chunk may be empty.
Status check_extents(const Shape& shape, Shape& chunk, DType dtype, const std::string& uri) {
  if (shape.size() != chunk.size())
    return bad_metadata(ErrorCode::kCorrupt,
                        fmt::format("{} dimensions, but chunks of {}", shape.size(), chunk.size()), uri);
  std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) chunk[axis] = std::max<std::int64_t>(chunk[axis], 1);
    if (chunk[axis] == 0)
      return bad_metadata(ErrorCode::kCorrupt, fmt::format("chunks of [{}]", fmt::join(chunk, ", ")), uri);
    const auto product = checked_multiply(bytes, std::max<std::int64_t>(shape[axis], 1));
    if (!product || shape[axis] > kMaxExtent || chunk[axis] > kMaxExtent)
      return bad_metadata(ErrorCode::kTooLarge,
                          fmt::format("shape [{}] in chunks of [{}] is beyond 2^63 bytes",
                                      fmt::join(shape, ", "), fmt::join(chunk, ", ")),
                          uri);
    bytes = *product;
  }
  return {};
}

Status check_format(const Json& metadata, int version, const std::string& uri) {
  const Json* format = find_member(metadata, "zarr_format");
  if (format != nullptr && format->is_number_integer() && *format == version) return {};
  return bad_metadata(
      ErrorCode::kUnsupported,
      fmt::format("zarr_format {}, not {}", format == nullptr ? "missing" : short_text(*format), version),
      uri);
}

// The names of the dimensions, if there is one per axis; null is an axis without a name.
std::vector<std::string> dimension_names(const Json* names, std::size_t rank) {
  std::vector<std::string> out;
  if (names == nullptr || !names->is_array() || names->size() != rank) return out;
  for (const Json& name : *names) {
    if (!name.is_string() && !name.is_null()) return {};
    out.push_back(name.is_string() ? name.get_ref<const std::string&>() : std::string());
  }
  if (std::ranges::all_of(out, &std::string::empty)) out.clear();
  return out;
}

Status check_dimension_names(const Json* names, std::size_t rank, const std::string& uri) {
  if (names == nullptr || names->is_null()) return {};
  const bool is_list = names->is_array() && names->size() == rank;
  if (is_list && std::ranges::all_of(*names, [](const Json& n) { return n.is_string() || n.is_null(); }))
    return {};
  return bad_metadata(ErrorCode::kCorrupt,
                      fmt::format("dimension_names {} are not {} names", short_text(*names), rank), uri);
}

// Unknown members of version 3 may be ignored only if they say so themselves.
Status check_members(const Json& zarr_json, std::span<const std::string_view> known, const std::string& uri) {
  for (const auto& [key, value] : zarr_json.items()) {
    if (std::ranges::find(known, std::string_view(key)) != known.end()) continue;
    const Json* must = find_member(value, "must_understand");
    if (must != nullptr && *must == false) continue;
    return bad_metadata(ErrorCode::kUnsupported,
                        fmt::format("zarr.json has an unknown member {}", short_text(key)), uri);
  }
  return {};
}

constexpr std::string_view kGroupMembers[] = {"zarr_format", "node_type", "attributes",
                                              "consolidated_metadata"};
constexpr std::string_view kArrayMembers[] = {
    "zarr_format",        "node_type",       "attributes",           "shape",
    "data_type",          "chunk_grid",      "fill_value",           "codecs",
    "chunk_key_encoding", "dimension_names", "storage_transformers",
};

Result<Json> read_attributes(const Json* attributes, const std::string& uri) {
  if (attributes == nullptr) return Json::object();
  if (!attributes->is_object()) return bad_metadata(ErrorCode::kCorrupt, "attributes are not an object", uri);
  return *attributes;
}

Result<Shape> read_v3_chunk_grid(const Json* chunk_grid, const std::string& uri) {
  const auto named = read_named(chunk_grid, "chunk_grid", uri);
  if (!named) return std::unexpected(named.error());
  if (named->name != "regular")
    return bad_metadata(ErrorCode::kUnsupported, "chunk_grid " + short_text(named->name), uri);
  return read_extents(find_member(named->configuration, "chunk_shape"), "chunk_shape", 0, uri);
}

}  // namespace

Result<std::uint64_t> checked_chunk_bytes(const Shape& chunk, DType dtype, const std::string& uri) {
  std::optional<std::uint64_t> bytes = size_of(dtype);
  for (const std::int64_t extent : chunk)
    if (bytes) bytes = checked_multiply(*bytes, static_cast<std::uint64_t>(extent));
  const std::uint64_t most = Limits{}.chunk_bytes;
  if (bytes && *bytes <= most) return *bytes;
  return bad_metadata(
      ErrorCode::kTooLarge,
      fmt::format("a chunk of [{}] {} is beyond {} bytes", fmt::join(chunk, ", "), name_of(dtype), most),
      uri);
}

Result<ZarrArrayMetadata> read_v2_array(const Json& zarray, const Json& zattrs, const std::string& uri) {
  PENSTOCK_CHECK(check_format(zarray, 2, uri));
  auto type = read_v2_type(find_member(zarray, "dtype"), uri);
  if (!type) return std::unexpected(std::move(type).error());
  auto shape = read_extents(find_member(zarray, "shape"), "shape", 0, uri);
  if (!shape) return std::unexpected(std::move(shape).error());
  auto chunks = read_extents(find_member(zarray, "chunks"), "chunks", 0, uri);
  if (!chunks) return std::unexpected(std::move(chunks).error());
  const DType dtype = type->stored.dtype;
  PENSTOCK_CHECK(check_extents(*shape, *chunks, dtype, uri));
  auto codecs = read_v2_codecs(zarray, type->stored, shape->size(), uri);
  if (!codecs) return std::unexpected(std::move(codecs).error());
  const Json* fill_value = find_member(zarray, "fill_value");
  const auto fill = read_fill_value(fill_value, dtype, 2, uri);
  if (!fill) return std::unexpected(fill.error());
  const auto keys = read_v2_chunk_keys(zarray, uri);
  if (!keys) return std::unexpected(keys.error());
  // This is a convention of xarray, not of Zarr, so a value that does not fit is an ordinary attribute.
  auto dimensions = dimension_names(find_member(zattrs, "_ARRAY_DIMENSIONS"), shape->size());
  ZarrArrayMetadata metadata;
  metadata.spec = {dtype, *std::move(shape)};
  metadata.chunk_shape = *std::move(chunks);
  metadata.keys = *keys;
  metadata.codecs = *std::move(codecs);
  metadata.fill = *fill;
  metadata.fill_number = fill_value_number(fill_value, *fill, dtype);
  metadata.dimensions = std::move(dimensions);
  metadata.time_unit = std::move(type->time_unit);
  metadata.is_duration = type->is_duration;
  if (zattrs.is_object()) metadata.attributes = zattrs;
  return metadata;
}

Result<std::string> read_v3_node_type(const Json& zarr_json, const std::string& uri) {
  PENSTOCK_CHECK(check_format(zarr_json, 3, uri));
  const Json* node_type = find_member(zarr_json, "node_type");
  const bool is_group = node_type != nullptr && *node_type == "group";
  if (node_type == nullptr || (!is_group && *node_type != "array"))
    return bad_metadata(ErrorCode::kCorrupt, "node_type is neither array nor group", uri);
  if (is_group) {
    PENSTOCK_CHECK(check_members(zarr_json, kGroupMembers, uri));
  } else {
    PENSTOCK_CHECK(check_members(zarr_json, kArrayMembers, uri));
  }
  return is_group ? "group" : "array";
}

Result<ZarrArrayMetadata> read_v3_array(const Json& zarr_json, const std::string& uri) {
  const auto node_type = read_v3_node_type(zarr_json, uri);
  if (!node_type) return std::unexpected(node_type.error());
  if (*node_type != "array") return bad_metadata(ErrorCode::kNotFound, "this is a group, not an array", uri);
  if (const Json* transformers = find_member(zarr_json, "storage_transformers");
      transformers != nullptr && !(transformers->is_array() && transformers->empty()))
    return bad_metadata(ErrorCode::kUnsupported, "storage_transformers " + short_text(*transformers), uri);
  auto type = read_v3_type(find_member(zarr_json, "data_type"), uri);
  if (!type) return std::unexpected(std::move(type).error());
  auto shape = read_extents(find_member(zarr_json, "shape"), "shape", 0, uri);
  if (!shape) return std::unexpected(std::move(shape).error());
  auto chunks = read_v3_chunk_grid(find_member(zarr_json, "chunk_grid"), uri);
  if (!chunks) return std::unexpected(std::move(chunks).error());
  const DType dtype = type->stored.dtype;
  PENSTOCK_CHECK(check_extents(*shape, *chunks, dtype, uri));
  auto codecs = read_v3_codecs(find_member(zarr_json, "codecs"), dtype, shape->size(), uri);
  if (!codecs) return std::unexpected(std::move(codecs).error());
  const auto fill = read_fill_value(find_member(zarr_json, "fill_value"), dtype, 3, uri);
  if (!fill) return std::unexpected(fill.error());
  const auto keys = read_v3_chunk_keys(find_member(zarr_json, "chunk_key_encoding"), uri);
  if (!keys) return std::unexpected(keys.error());
  auto attributes = read_attributes(find_member(zarr_json, "attributes"), uri);
  if (!attributes) return std::unexpected(std::move(attributes).error());
  const Json* names = find_member(zarr_json, "dimension_names");
  PENSTOCK_CHECK(check_dimension_names(names, shape->size(), uri));
  auto dimensions = dimension_names(names, shape->size());
  ZarrArrayMetadata metadata;
  metadata.spec = {dtype, *std::move(shape)};
  metadata.chunk_shape = *std::move(chunks);
  metadata.keys = *keys;
  metadata.codecs = *std::move(codecs);
  metadata.fill = *fill;
  metadata.dimensions = std::move(dimensions);
  metadata.time_unit = std::move(type->time_unit);
  metadata.is_duration = type->is_duration;
  metadata.attributes = *std::move(attributes);
  return metadata;
}

}  // namespace penstock
