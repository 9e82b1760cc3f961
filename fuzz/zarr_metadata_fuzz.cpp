// Zarr metadata of both versions, consolidated or not: opened, or an error that names the object.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "source/zarr/metadata/zarr_node.h"
#include "store/memory_store.h"

namespace {

using namespace penstock;

void demand(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

bool is_ours(const std::string& uri) { return uri == "z" || uri.starts_with("z/"); }

void check_chunk(const ChunkedArray& array, std::uint64_t chunk, const std::vector<std::byte>& file) {
  const Shape strides = array.chunk_strides(chunk);
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < strides.size(); ++axis)
    last += strides[axis] * (array.chunk_shape()[axis] - 1);
  const std::size_t element = size_of(array.spec().dtype);
  demand(static_cast<std::size_t>(last) + element == array.chunk_bytes(chunk), "strides span the chunk");
  if (array.chunk_bytes(chunk) <= 1 << 16) {
    std::vector<std::byte> out(array.chunk_bytes(chunk));
    demand(array.fill_missing(chunk, out).has_value(), "missing chunks are filled");
    demand(std::equal(out.begin() + static_cast<std::ptrdiff_t>(element), out.end(), out.begin()),
           "all elements are the same");
  }
  // The input itself is the index of every shard.
  if (const auto index = array.index_read(chunk)) {
    demand(is_ours(index->key), "keys stay below the array");
    std::vector<std::byte> memory = file;
    demand(index->range.length <= std::uint64_t{17} << 20, "indexes are limited");
    auto answer = array.add_index(chunk, ObjectBytes{memory, 0, {memory.size(), 0}});
    if (!answer) demand(answer.error().where.uri == index->key, "errors name the shard");
  }
  const auto place = array.location(chunk);
  if (!place) {
    demand(is_ours(place.error().where.uri), "errors name the shard");
    return;
  }
  demand(is_ours(place->read.key), "keys stay below the array");
  demand(place->read.max_bytes >= array.chunk_bytes(chunk) || !array.is_plain(),
         "a chunk may have its size");
}

void check_array(const ZarrArray& array, const std::vector<std::byte>& file) {
  const ChunkedArray& data = *array.data;
  demand(array.dimensions.empty() || array.dimensions.size() == data.spec().shape.size(),
         "a name for each axis");
  demand(data.chunk_shape().size() == data.spec().shape.size(), "one rank");
  demand(array.stored_bytes == data.spec().bytes(), "the decoded size");
  const std::uint64_t chunks = data.chunks();
  for (const std::uint64_t chunk : {std::uint64_t{0}, std::uint64_t{1}, chunks / 2, chunks - 1})
    if (chunk < chunks) check_chunk(data, chunk, file);
  demand(!data.location(chunks), "no chunk beyond the last");
}

}  // namespace

// The first letter chooses the object: '2' .zarray, '3' zarr.json, 'm' .zmetadata, 'a' .zattrs.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::vector<std::byte> file(size - 1);
  std::transform(data + 1, data + size, file.begin(), [](std::uint8_t byte) { return std::byte{byte}; });
  auto store = std::make_shared<MemoryStore>();
  const char* name = data[0] == '3' ? "z/zarr.json" : data[0] == 'm' ? "z/.zmetadata" : "z/.zarray";
  store->put(name, file);
  if (data[0] == 'a') {
    const std::string array =
        R"({"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|u1", "order": "C", "fill_value": 1})";
    const auto* text = reinterpret_cast<const std::byte*>(array.data());
    store->put("z/.zattrs", file);
    store->put("z/.zarray", {text, text + array.size()});
  }
  // The input is a shard, too, of those arrays whose first has this key.
  store->put("z/c/0/0", file);
  const auto node = ZarrNode::open(store, "z", {});
  if (!node) {
    demand(is_ours(node.error().where.uri), "errors name the object");
    return 0;
  }
  demand(std::ranges::is_sorted(node->arrays()), "names in order");
  std::vector<std::string> names = node->arrays();
  if (node->is_array()) names.emplace_back();
  if (names.size() > 8) names.resize(8);
  for (const std::string& array_name : names) {
    const auto array = node->array(array_name);
    if (array) {
      check_array(*array, file);
    } else {
      demand(is_ours(array.error().where.uri), "errors name the object");
    }
  }
  return 0;
}
