#include "pack/zarr/hierarchy.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxRecordBytes = 16 << 20;
constexpr const char* kRecordName = ".penstock-pack.json";

Status write_object(const Store& store, const std::string& key, ConstBytes bytes) {
  auto writer = store.create(key);
  if (!writer) return std::unexpected(std::move(writer).error());
  PENSTOCK_CHECK((*writer)->write(bytes));
  return (*writer)->commit();
}

std::string text_of(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

Status write_json(const Store& store, const std::string& key, const Json& json) {
  const std::string text = text_of(json);
  return write_object(store, key, as_bytes(text.data(), text.size()));
}

Json named(const char* name, Json configuration) { return {{"name", name}, {"configuration", std::move(configuration)}}; }

Json bytes_codec(DType dtype) {
  if (size_of(dtype) == 1) return {{"name", "bytes"}};
  return named("bytes", {{"endian", "little"}});
}

Json array_json(const Shape& shape, const Shape& chunk, DType dtype, Json fill, Json codecs, const std::string& attributes,
                const std::vector<std::string>& dimensions) {
  Json json;
  json["zarr_format"] = 3;
  json["node_type"] = "array";
  json["shape"] = shape;
  json["data_type"] = name_of(dtype);
  json["chunk_grid"] = named("regular", {{"chunk_shape", chunk}});
  json["chunk_key_encoding"] = named("default", {{"separator", "/"}});
  json["fill_value"] = std::move(fill);
  json["codecs"] = std::move(codecs);
  json["attributes"] = Json::parse(attributes);
  json["dimension_names"] = dimensions;
  json["storage_transformers"] = Json::array();
  return json;
}

Json json_of(const PackedArray& array) {
  const Json crc32c = {{"name", "crc32c"}};
  const Json zstd = named("zstd", {{"level", array.level}, {"checksum", false}});
  const Json sharding = named("sharding_indexed",
                              {{"chunk_shape", array.chunk},
                               {"codecs", Json::array({bytes_codec(array.sample.dtype), zstd, crc32c})},
                               {"index_codecs", Json::array({named("bytes", {{"endian", "little"}}), crc32c})},
                               {"index_location", "end"}});
  return array_json(array.shape(), array.shard_shape(), array.sample.dtype, Json::parse(array.fill_json),
                    Json::array({sharding}), array.attributes, array.dimensions);
}

// Coordinates are small and always read whole, so each is one plain chunk.
Json json_of(const CoordinateValues& coordinate) {
  const auto count = static_cast<std::int64_t>(coordinate.count());
  return array_json({count}, {std::max<std::int64_t>(count, 1)}, coordinate.dtype, 0,
                    Json::array({bytes_codec(coordinate.dtype)}), coordinate.attributes, {coordinate.name});
}

Json group_json() {
  return {{"zarr_format", 3}, {"node_type", "group"}, {"attributes", Json::object()}};
}

Result<std::optional<std::string>> read_record(const Store& store, const std::string& root) {
  auto bytes = read_all(store, root + "/" + kRecordName, kMaxRecordBytes);
  if (!bytes && bytes.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!bytes) return std::unexpected(std::move(bytes).error());
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

std::unexpected<Error> other_pack(const std::string& root) {
  return fail(ErrorCode::kInvalidArgument,
              "the destination holds a pack of other data or with other options; choose another one, or remove it",
              {root, -1, -1, -1});
}

}  // namespace

std::string describe_pack(const std::string& source_fingerprint, std::span<const PackedArray> arrays) {
  Json json;
  json["format"] = 1;
  json["source"] = source_fingerprint;
  json["arrays"] = Json::object();
  for (const PackedArray& array : arrays) json["arrays"][array.name] = json_of(array);
  return text_of(json);
}

Status claim_destination(const Store& store, const std::string& root, const std::string& record) {
  const auto known = read_record(store, root);
  if (!known) return std::unexpected(known.error());
  if (*known) return **known == record ? Status() : other_pack(root);
  const auto other = store.stat(root + "/zarr.json");
  if (other) return other_pack(root);
  if (other.error().code != ErrorCode::kNotFound) return std::unexpected(other.error());
  return write_object(store, root + "/" + kRecordName, as_bytes(record.data(), record.size()));
}

Status check_destination(const Store& store, const std::string& root, const std::string& record) {
  const auto known = read_record(store, root);
  if (!known) return std::unexpected(known.error());
  if (!*known) return fail(ErrorCode::kNotFound, "no part was packed here", {root, -1, -1, -1});
  return **known == record ? Status() : other_pack(root);
}

Status write_hierarchy(const Store& store, const std::string& root, std::span<const PackedArray> arrays,
                       std::span<const CoordinateValues> coordinates) {
  std::map<std::string, Json> nodes;
  for (const CoordinateValues& coordinate : coordinates) {
    nodes[coordinate.name] = json_of(coordinate);
    if (coordinate.count() > 0)
      PENSTOCK_CHECK(write_object(store, fmt::format("{}/{}/c/0", root, coordinate.name), coordinate.values));
  }
  for (const PackedArray& array : arrays) {
    nodes[array.name] = json_of(array);
    for (std::size_t slash = array.name.find('/'); slash != std::string::npos; slash = array.name.find('/', slash + 1))
      nodes.try_emplace(array.name.substr(0, slash), group_json());
  }
  Json all = Json::object();
  for (const auto& [name, json] : nodes) {
    PENSTOCK_CHECK(write_json(store, fmt::format("{}/{}/zarr.json", root, name), json));
    all[name] = json;
  }
  Json group = group_json();
  group["consolidated_metadata"] = {{"kind", "inline"}, {"must_understand", false}, {"metadata", std::move(all)}};
  return write_json(store, root + "/zarr.json", group);
}

}  // namespace penstock
