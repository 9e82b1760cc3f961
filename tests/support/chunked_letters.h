// A small Zarr array of letters, a byte each, and a source whose samples are boxes of it.
//
// The array has 4 rows of 6 letters, in chunks of 2 rows of 3. Letters that are not stored are dots.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "plan/chunk_id.h"
#include "plan/sample_boxes.h"
#include "source/zarr/metadata/zarr_node.h"
#include "support/listed_source.h"
#include "support/make_shard.h"
#include "support/watched_store.h"
#include "support/zarr_store.h"

namespace penstock {

struct ChunkedLetters {
  static constexpr ChunkId kTopLeft{0, 0}, kTopRight{0, 1}, kBottomLeft{0, 2}, kBottomRight{0, 3};

  enum class Stored : std::uint8_t { kPlain, kGzip, kShard };

  explicit ChunkedLetters(Stored stored = Stored::kPlain, std::size_t reads_ahead = 0, Shape sample_shape = {2, 3})
      : store(std::make_shared<WatchedStore>(reads_ahead)),
        source(std::make_shared<ListedSource>(
            std::vector<FieldInfo>{{"letters", FieldKind::kArray, FieldForm::kChunks}})),
        shape(std::move(sample_shape)) {
    store->put("z/zarr.json", metadata(stored));
    const auto node = ZarrNode::open(store, "z", {});
    if (!node) throw std::runtime_error(node.error().describe());
    const auto array = node->array("");
    if (!array) throw std::runtime_error(array.error().describe());
    source->stored.arrays = {array->data};
    source->layouts = {{{DType::kUInt8, shape}, false, false, {}, -1}};
  }

  // Stores the six letters of a chunk.
  void put(const ChunkId& chunk, std::string_view letters) {
    store->put("z/c/" + std::to_string(chunk.number / 2) + "/" + std::to_string(chunk.number % 2), letters);
  }
  void put_all() {
    put(kTopLeft, "abcghi");
    put(kTopRight, "defjkl");
    put(kBottomLeft, "mnostu");
    put(kBottomRight, "pqrvwx");
  }
  // Stores the one shard, with these chunks from the first on.
  void put_shard(const std::vector<std::string>& chunks) {
    std::vector<std::optional<std::vector<std::byte>>> contents(4);
    for (std::size_t i = 0; i < chunks.size(); ++i) contents[i] = bytes_of(chunks[i]);
    store->put("z/c/0/0", make_shard(contents));
  }
  // A sample that begins at this letter.
  void add_sample(std::int64_t row, std::int64_t column) {
    ArrayBox box;
    box.origin = {row, column};
    box.count = {shape[0], shape[1]};
    box.step = {1, 1};
    box.to_stride = {shape[1], 1};
    source->chunked.push_back({box});
  }

  // The sample is to be put into this memory, row after row.
  SampleBoxes boxes_of(std::uint64_t sample, std::string& memory) const {
    memory.assign(static_cast<std::size_t>(shape[0] * shape[1]), '?');
    SampleBoxes boxes;
    ChunkTarget target;
    target.rank = 2;
    target.extent = {shape[0], shape[1]};
    target.memory = reinterpret_cast<std::byte*>(memory.data());
    target.stride = {shape[1], 1};
    boxes.targets = {target};
    boxes.find(*source, sample);
    return boxes;
  }

  std::shared_ptr<WatchedStore> store;
  std::shared_ptr<ListedSource> source;
  const Shape shape;  // of a sample

 private:
  static std::string metadata(Stored stored) {
    const std::string little = R"({"name": "bytes", "configuration": {"endian": "little"}})";
    std::string codecs = little, chunk = "[2, 3]";
    if (stored == Stored::kGzip) codecs += R"(, {"name": "gzip", "configuration": {"level": 1}})";
    if (stored == Stored::kShard) {
      codecs = R"({"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 3], "codecs": [)" + little +
               R"(], "index_codecs": [)" + little + R"(, {"name": "crc32c"}], "index_location": "end"}})";
      chunk = "[4, 6]";
    }
    return v3_text({{"data_type", "\"uint8\""},
                    {"shape", "[4, 6]"},
                    {"fill_value", "46"},
                    {"chunk_grid", R"({"name": "regular", "configuration": {"chunk_shape": )" + chunk + "}}"},
                    {"codecs", "[" + codecs + "]"}});
  }
};

}  // namespace penstock
