#include "pack/zarr/hierarchy.h"

#include <fmt/format.h>

#include <map>

#include "base/checked_math.h"
#include "base/crc32c.h"
#include "source/zarr/metadata/zarr_json.h"

namespace penstock {
namespace {

using namespace nlohmann::literals;

constexpr std::uint64_t kMaxRecordBytes = 16 << 20;
constexpr std::uint64_t kMaxRecordChunks = 1 << 22;  // chunks per shard
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

std::unexpected<Error> bad_record(const std::string& root) {
  return fail(ErrorCode::kCorrupt, "the record of the pack is damaged; remove it, and pack again",
              {root + "/" + kRecordName, -1, -1, -1});
}

Result<Json> parse_record(const std::string& record, const std::string& root) {
  auto json = parse_zarr_json(as_bytes(record.data(), record.size()), root);
  if (!json) return bad_record(root);
  const auto nodes = json->find("nodes");
  if (nodes == json->end() || !nodes->is_object()) return bad_record(root);
  for (const auto& [name, node] : nodes->items())
    if (!is_new_node_name(name) || !node.is_object()) return bad_record(root);
  return json;
}

// The positive integers at a path of a node; empty if there are none.
Shape numbers_at(const Json& node, const char* path, std::int64_t least) {
  const Json::json_pointer pointer(path);
  if (!node.contains(pointer) || !node[pointer].is_array()) return {};
  Shape numbers;
  for (const Json& number : node[pointer]) {
    if (!number.is_number_integer() || number.get<std::int64_t>() < least) return {};
    numbers.push_back(number.get<std::int64_t>());
  }
  return numbers;
}

// nullopt: the node is not the description of a sharded array that this code writes.
std::optional<PackedArray> array_of_node(const std::string& name, const Json& node) {
  PackedArray array;
  array.name = name;
  array.chunk = numbers_at(node, "/codecs/0/configuration/chunk_shape", 1);
  const Shape shape = numbers_at(node, "/shape", 0), shard = numbers_at(node, "/chunk_grid/configuration/chunk_shape", 1);
  const auto type = node.find("data_type");
  const auto dtype = type != node.end() && type->is_string() ? dtype_named(type->get<std::string>()) : std::nullopt;
  if (!dtype || shape.empty() || shard.size() != shape.size() || array.chunk.size() != shape.size()) return std::nullopt;
  std::uint64_t chunks = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto more = checked_multiply(chunks, static_cast<std::uint64_t>(shard[d] / array.chunk[d]));
    if (shard[d] % array.chunk[d] != 0 || (d > 0 && shard[d] < shape[d]) || !more || *more > kMaxRecordChunks)
      return std::nullopt;
    chunks = *more;
  }
  array.samples = static_cast<std::uint64_t>(shape.front());
  array.shard_samples = shard.front();
  array.sample = {*dtype, Shape(shape.begin() + 1, shape.end())};
  return array.chunks_of_shard().size() == shape.size() ? std::optional(array) : std::nullopt;
}

std::unexpected<Error> other_pack(const std::string& root) {
  return fail(ErrorCode::kInvalidArgument,
              "the destination holds a pack of other data or with other options; choose another one, or remove it",
              {root, -1, -1, -1});
}

}  // namespace

std::string describe_pack(const std::string& source_fingerprint, std::span<const PackedArray> arrays,
                          std::span<const CoordinateValues> coordinates) {
  std::map<std::string, Json> nodes;
  Json checksums = Json::object();
  for (const CoordinateValues& coordinate : coordinates) {
    nodes[coordinate.name] = json_of(coordinate);
    checksums[coordinate.name] = crc32c(coordinate.values);
  }
  for (const PackedArray& array : arrays) {
    nodes[array.name] = json_of(array);
    for (std::size_t slash = array.name.find('/'); slash != std::string::npos; slash = array.name.find('/', slash + 1))
      nodes.try_emplace(array.name.substr(0, slash), group_json());
  }
  Json json = {{"format", 1}, {"source", source_fingerprint}, {"coordinates_crc32c", checksums}};
  json["nodes"] = Json::object();
  for (auto& [name, node] : nodes) json["nodes"][name] = std::move(node);
  return text_of(json);
}

Status claim_destination(const Store& store, const std::string& root, const std::string& record,
                         std::span<const CoordinateValues> coordinates) {
  const auto known = read_record(store, root);
  if (known) return *known == record ? Status() : other_pack(root);
  if (known.error().code != ErrorCode::kNotFound) return std::unexpected(known.error());
  const auto other = store.stat(root + "/zarr.json");
  if (other) return other_pack(root);
  if (other.error().code != ErrorCode::kNotFound) return std::unexpected(other.error());
  for (const CoordinateValues& coordinate : coordinates)
    if (coordinate.count() > 0)
      PENSTOCK_CHECK(write_object(store, fmt::format("{}/{}/c/0", root, coordinate.name), coordinate.values));
  return write_object(store, root + "/" + kRecordName, as_bytes(record.data(), record.size()));
}

Result<std::string> read_record(const Store& store, const std::string& root) {
  auto bytes = read_all(store, root + "/" + kRecordName, kMaxRecordBytes);
  if (!bytes && bytes.error().code == ErrorCode::kNotFound)
    return fail(ErrorCode::kNotFound, "no part of a Zarr hierarchy was packed here", {root, -1, -1, -1});
  if (!bytes) return std::unexpected(std::move(bytes).error());
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

Result<std::vector<PackedArray>> arrays_of_record(const std::string& record, const std::string& root) {
  const auto json = parse_record(record, root);
  if (!json) return std::unexpected(json.error());
  std::vector<PackedArray> arrays;
  for (const auto& [name, node] : (*json)["nodes"].items()) {
    if (!node.contains("/codecs/0/configuration/chunk_shape"_json_pointer)) continue;
    auto array = array_of_node(name, node);
    if (!array) return bad_record(root);
    arrays.push_back(std::move(*array));
  }
  return arrays;
}

Status write_metadata(const Store& store, const std::string& root, const std::string& record) {
  auto json = parse_record(record, root);
  if (!json) return std::unexpected(std::move(json).error());
  Json& nodes = (*json)["nodes"];
  for (const auto& [name, node] : nodes.items())
    PENSTOCK_CHECK(write_json(store, fmt::format("{}/{}/zarr.json", root, name), node));
  Json group = group_json();
  group["consolidated_metadata"] = {{"kind", "inline"}, {"must_understand", false}, {"metadata", std::move(nodes)}};
  return write_json(store, root + "/zarr.json", group);
}

}  // namespace penstock
