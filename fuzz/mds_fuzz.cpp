// MDS data sets: the index names only what lies in its folder, a shard's samples lie one after another behind its table,
// and values of every encoding lie in the sample or in memory that was asked for.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/checked_math.h"
#include "source/mds/mds_encoding.h"
#include "source/mds/mds_fields.h"
#include "source/mds/mds_index.h"
#include "source/mds/mds_shard.h"
#include "store/memory_store.h"

namespace {

using namespace penstock;

void demand(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

void read_index(ConstBytes text) {
  const auto index = parse_mds_index(text, "fuzz");
  if (!index) {
    demand(index.error().where.uri == "fuzz", "errors name the index");
    return;
  }
  demand(is_mds_index(text), "what is read is recognised");
  for (const MdsShard& shard : index->shards) {
    demand(shard.layout < index->layouts.size(), "every shard has columns");
    demand(!("/" + shard.stored().name + "/").contains("/../") && !shard.stored().name.starts_with('/'), "stays in its folder");
  }
  static_cast<void>(plan_mds_fields(*index, {}, "fuzz", [](const MdsField&) -> Result<std::uint32_t> { return 2; }));
}

void read_shard(ConstBytes bytes) {
  if (bytes.size() < 4) return;
  MdsShard shard;
  std::uint32_t samples = 0;
  std::memcpy(&samples, bytes.data(), 4);
  shard.samples = samples;
  shard.raw.size_bytes = bytes.size();
  MemoryStore store;
  store.put("fuzz", {bytes.begin(), bytes.end()});
  const auto object = store.open("fuzz");
  const auto reader = make_object_reader(**object);
  ShardContents contents;
  if (!scan_mds_shard(*reader, "fuzz", shard, contents)) return;
  std::uint64_t before = mds_table_bytes(samples);
  demand(contents.samples() == samples, "as many samples as declared");
  for (std::size_t i = 0; i < contents.offsets.size(); ++i) {
    demand(contents.offsets[i] >= before, "samples do not overlap");
    before = contents.offsets[i] + contents.lengths[i];
  }
  demand(samples == 0 || before == bytes.size(), "samples end with the shard");
}

void read_values(ConstBytes bytes) {
  std::vector<std::byte> memory;
  const auto allocate = [&](std::size_t size) -> Result<std::span<std::byte>> {
    if (size > (std::size_t{1} << 26)) return fail(ErrorCode::kNoMemory, "too much");
    memory.resize(size);
    return memory;
  };
  const auto check = [&](const Result<RecordValue>& value) {
    if (!value || value->bytes.empty()) return;
    const std::byte *begin = value->bytes.data(), *end = begin + value->bytes.size();
    const bool is_stored = begin >= bytes.data() && end <= bytes.data() + bytes.size();
    const bool is_made = begin >= memory.data() && end <= memory.data() + memory.size();
    demand(is_stored || is_made, "a value lies in the sample or in its memory");
    if (value->elements) demand(value->elements->bytes() == value->bytes.size(), "an array is as long as its shape says");
  };
  for (const char* name : {"bytes", "int", "uint8", "float16", "ndarray", "ndarray:int16", "ndarray:uint8:2,3", "str_int",
                           "str_float", "pil", "jpeg_array", "list[png]", "list[pil]"}) {
    const auto encoding = parse_mds_encoding(name);
    demand(encoding.has_value(), "encodings of Streaming are read");
    if (!encoding->is_several_images()) {
      check(read_mds_value(*encoding, bytes, allocate));
      continue;
    }
    const auto count = count_mds_images(*encoding, bytes);
    if (!count) continue;
    check(read_mds_image(*encoding, bytes, 0, allocate));
    demand(!read_mds_image(*encoding, bytes, *count, allocate), "no image behind the last one");
    if (*count > 0) check(read_mds_image(*encoding, bytes, *count - 1, allocate));
  }
  static const std::vector<MdsColumn> columns = {{"a", "str", 0}, {"b", "int", 8}, {"c", "str", 0}};
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (const auto value = find_mds_column(columns, i, bytes))
      demand(value->empty() || (value->data() >= bytes.data() && value->data() + value->size() <= bytes.data() + bytes.size()),
             "a column lies in its sample");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ConstBytes bytes = as_bytes(data, size);
  if (size > 0 && data[0] == '{') read_index(bytes);
  read_shard(bytes);
  read_values(bytes);
  // An encoding is text of the index.
  static_cast<void>(parse_mds_encoding({reinterpret_cast<const char*>(data), size}));
  return 0;
}
