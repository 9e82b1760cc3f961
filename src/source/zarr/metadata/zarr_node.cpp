#include "source/zarr/metadata/zarr_node.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked_math.h"
#include "base/text/nearest_name.h"
#include "source/zarr/metadata/metadata_object.h"
#include "source/zarr/chunks/zarr_array.h"
#include "source/zarr/metadata/zarr_tree.h"
#include "source/zarr/metadata/zarr_type.h"
#include "store/second_look.h"

namespace penstock {
namespace {

constexpr std::string_view kArraySuffix = "/.zarray", kAttributesSuffix = "/.zattrs";

std::unexpected<Error> bad_name(const std::string& name, const std::string& uri) {
  return bad_metadata(ErrorCode::kCorrupt, "consolidated metadata name a node " + short_text(name), uri);
}

}  // namespace

std::string text_attribute(const ZarrArray& array, const char* name) {
  const auto found = array.attributes.find(name);
  return found != array.attributes.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string ZarrNode::uri_of(const std::string& name) const {
  return name.empty() ? uri_ : uri_ + "/" + name;
}

std::string ZarrNode::metadata_key(const std::string& name) const {
  return uri_of(name) + (version_ == 3 ? "/zarr.json" : "/.zarray");
}

Result<ZarrNode> ZarrNode::open(std::shared_ptr<const Store> store, const std::string& uri,
                                const ZarrOpenOptions& options) {
  ZarrNode node;
  node.store_ = std::move(store);
  node.chunk_store_ = options.missing == MissingChunk::kFill ? node.store_ : with_second_look(node.store_);
  node.uri_ = uri;
  while (node.uri_.size() > 1 && node.uri_.ends_with('/')) node.uri_.pop_back();
  node.options_ = options;
  const MetadataObjects objects(*node.store_, {{{node.uri_ + "/zarr.json", kMaxGroupMetadataBytes},
                                                {node.uri_ + "/.zarray", kMaxArrayMetadataBytes},
                                                {node.uri_ + "/.zattrs", kMaxArrayMetadataBytes},
                                                {node.uri_ + "/.zmetadata", kMaxGroupMetadataBytes},
                                                {node.uri_ + "/.zgroup", kMaxArrayMetadataBytes}}});
  auto zarr_json = objects.read(node.uri_ + "/zarr.json");
  if (!zarr_json) return std::unexpected(std::move(zarr_json).error());
  if (*zarr_json) {
    PENSTOCK_CHECK(node.open_v3(**std::move(zarr_json)));
    return node;
  }
  node.version_ = 2;
  auto zarray = node.read_metadata("", objects);
  if (zarray) {
    node.is_array_ = true;
    node.metadata_.emplace("", *std::move(zarray));
    return node;
  }
  if (zarray.error().code != ErrorCode::kNotFound) return std::unexpected(std::move(zarray).error());
  PENSTOCK_CHECK(node.open_v2_group(objects));
  return node;
}

Status ZarrNode::open_v3(nlohmann::json zarr_json) {
  version_ = 3;
  const std::string key = uri_ + "/zarr.json";
  const auto node_type = read_v3_node_type(zarr_json, key);
  if (!node_type) return std::unexpected(node_type.error());
  is_array_ = *node_type == "array";
  if (is_array_) {
    metadata_.emplace("", Metadata{std::move(zarr_json), {}});
    return {};
  }
  const auto consolidated = zarr_json.find("consolidated_metadata");
  if (consolidated == zarr_json.end() || consolidated->is_null()) return list_arrays();
  const Json* kind = find_member(*consolidated, "kind");
  if (kind == nullptr || *kind != "inline") return list_arrays();
  const auto nodes = consolidated->find("metadata");
  if (nodes == consolidated->end() || !nodes->is_object())
    return bad_metadata(ErrorCode::kCorrupt, "consolidated_metadata without metadata", key);
  for (const auto& [name, metadata] : nodes->items()) {
    if (!is_node_name(name)) return bad_name(name, key);
    const Json* type = find_member(metadata, "node_type");
    if (type == nullptr || *type != "array") continue;
    names_.push_back(name);
    metadata_.emplace(name, Metadata{std::move(metadata), {}});
  }
  std::ranges::sort(names_);
  return {};
}

Status ZarrNode::open_v2_group(const MetadataObjects& objects) {
  const std::string key = uri_ + "/.zmetadata";
  auto consolidated = objects.read(key);
  if (!consolidated) return std::unexpected(std::move(consolidated).error());
  if (!*consolidated) {
    const auto zgroup = objects.read(uri_ + "/.zgroup");
    if (!zgroup) return std::unexpected(zgroup.error());
    if (!*zgroup)
      return bad_metadata(ErrorCode::kNotFound, "no Zarr array or group (zarr.json, .zarray, .zgroup)", uri_);
    return list_arrays();
  }
  const Json* format = find_member(**consolidated, "zarr_consolidated_format");
  if (format == nullptr || *format != 1)
    return bad_metadata(ErrorCode::kUnsupported, "zarr_consolidated_format is not 1", key);
  const auto entries = (*consolidated)->find("metadata");
  if (entries == (*consolidated)->end() || !entries->is_object())
    return bad_metadata(ErrorCode::kCorrupt, "consolidated metadata without metadata", key);
  for (const auto& [path, metadata] : entries->items()) {
    if (!path.ends_with(kArraySuffix)) continue;
    const std::string name = path.substr(0, path.size() - kArraySuffix.size());
    if (!is_node_name(name)) return bad_name(name, key);
    const auto attributes = entries->find(name + std::string(kAttributesSuffix));
    names_.push_back(name);
    metadata_.emplace(name, Metadata{std::move(metadata),
                                     attributes == entries->end() ? Json::object() : std::move(*attributes)});
  }
  std::ranges::sort(names_);
  return {};
}

Status ZarrNode::list_arrays() {
  auto names = list_zarr_arrays(*store_, uri_, version_);
  if (!names) return std::unexpected(std::move(names).error());
  names_ = *std::move(names);
  return {};
}

bool ZarrNode::is_array() const { return is_array_; }
int ZarrNode::version() const { return version_; }
const std::vector<std::string>& ZarrNode::arrays() const { return names_; }

Result<ZarrNode::Metadata> ZarrNode::read_metadata(const std::string& name,
                                                   const MetadataObjects& objects) const {
  auto array = objects.read(metadata_key(name));
  if (!array) return std::unexpected(std::move(array).error());
  if (!*array) return std::unexpected(no_such_array(name));
  Metadata metadata{**std::move(array), Json::object()};
  if (version_ == 3) return metadata;
  auto attributes = objects.read(uri_of(name) + "/.zattrs");
  if (!attributes) return std::unexpected(std::move(attributes).error());
  if (*attributes) metadata.attributes = **std::move(attributes);
  return metadata;
}

Error ZarrNode::no_such_array(const std::string& name) const {
  std::string message =
      fmt::format("no array {} in this {}", short_text(name), is_array_ ? "array" : "group");
  if (const auto nearest = nearest_name(name, names_))
    message += fmt::format("; did you mean \"{}\"?", *nearest);
  return {ErrorCode::kNotFound, std::move(message), {uri_, -1, -1, -1}, false};
}

Result<ZarrNode::Metadata> ZarrNode::metadata_of(const std::string& name) const {
  if (const auto found = metadata_.find(name); found != metadata_.end()) return found->second;
  // The listing may be incomplete, so the array is also looked up by name.
  if (is_array_ || !is_node_name(name)) return std::unexpected(no_such_array(name));
  std::vector<MetadataObjects::Wanted> wanted{{metadata_key(name), kMaxArrayMetadataBytes}};
  if (version_ == 2) wanted.push_back({uri_of(name) + "/.zattrs", kMaxArrayMetadataBytes});
  return read_metadata(name, MetadataObjects(*store_, wanted));
}

Result<bool> ZarrNode::has_readable_type(const std::string& name) const {
  const auto metadata = metadata_of(name);
  if (!metadata) return std::unexpected(metadata.error());
  const auto type = version_ == 3
                        ? read_v3_type(find_member(metadata->array, "data_type"), metadata_key(name))
                        : read_v2_type(find_member(metadata->array, "dtype"), metadata_key(name));
  if (!type && type.error().code != ErrorCode::kUnsupported) return std::unexpected(type.error());
  return type.has_value();
}

Result<ZarrArray> ZarrNode::array(const std::string& name) const {
  const auto metadata = metadata_of(name);
  if (!metadata) return std::unexpected(metadata.error());
  const std::string uri = uri_of(name);
  const std::string key = metadata_key(name);
  auto parsed = version_ == 3 ? read_v3_array(metadata->array, key)
                              : read_v2_array(metadata->array, metadata->attributes, key);
  if (!parsed) return std::unexpected(std::move(parsed).error());
  ZarrArray array;
  array.name = name;
  array.dimensions = std::move(parsed->dimensions);
  array.attributes = std::move(parsed->attributes);
  array.time_unit = std::move(parsed->time_unit);
  array.is_duration = parsed->is_duration;
  array.fill_value = parsed->fill_number;
  array.stored_bytes = parsed->spec.bytes();
  auto data = make_zarr_array(chunk_store_, uri, *std::move(parsed), options_.missing);
  if (!data) return std::unexpected(std::move(data).error());
  array.data = *std::move(data);
  return array;
}

Result<bool> is_zarr(const Store& store, const std::string& uri) {
  std::string folder = uri;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  for (const char* name : {"/zarr.json", "/.zarray", "/.zgroup", "/.zmetadata"})
    if (const auto found = store.stat(folder + name); found)
      return true;
    else if (found.error().code != ErrorCode::kNotFound)
      return std::unexpected(found.error());
  return false;
}

}  // namespace penstock
