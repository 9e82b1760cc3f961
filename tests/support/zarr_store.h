// Zarr metadata for tests, and a store to open them from.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "source/zarr/metadata/zarr_node.h"
#include "store/memory_store.h"
#include "support/text_bytes.h"

namespace penstock {

using TextObjects = std::vector<std::pair<std::string, std::string>>;

inline std::shared_ptr<MemoryStore> memory_store(const TextObjects& objects) {
  auto store = std::make_shared<MemoryStore>();
  for (const auto& [key, text] : objects) store->put(key, bytes_of(text));
  return store;
}

inline Result<ZarrNode> open_node(const TextObjects& objects, const std::string& uri = "z") {
  return ZarrNode::open(memory_store(objects), uri, {});
}

// A small array of version 2 or 3, with some members other than usual: {{"shape", "[0]"}}. A member
// without text is left out.
using Members = std::vector<std::pair<std::string, std::string>>;

inline std::string with_members(nlohmann::json usual, const Members& members) {
  for (const auto& [key, text] : members) usual.erase(key);
  std::string out = usual.dump();
  for (const auto& [key, text] : members)
    if (!text.empty()) out.insert(1, "\"" + key + "\":" + text + ",");
  return out;
}

inline std::string v2_text(const Members& members = {}) {
  return with_members(nlohmann::json::parse(R"({"zarr_format": 2, "shape": [10, 7], "chunks": [4, 3],
    "dtype": "<i4", "compressor": null, "filters": null, "order": "C", "fill_value": 0})"),
                      members);
}

inline std::string v3_text(const Members& members = {}) {
  return with_members(nlohmann::json::parse(R"({"zarr_format": 3, "node_type": "array", "shape": [10, 7],
    "data_type": "int32", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 3]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": 0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]})"),
                      members);
}

inline Result<ZarrArray> open_v2(const Members& members = {}, const std::string& attributes = "") {
  TextObjects objects{{"z/.zarray", v2_text(members)}};
  if (!attributes.empty()) objects.emplace_back("z/.zattrs", attributes);
  const auto node = open_node(objects);
  if (!node) return std::unexpected(node.error());
  return node->array("");
}

inline Result<ZarrArray> open_v3(const Members& members = {}) {
  const auto node = open_node({{"z/zarr.json", v3_text(members)}});
  if (!node) return std::unexpected(node.error());
  return node->array("");
}

}  // namespace penstock
