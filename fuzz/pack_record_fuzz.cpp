// The record of a Zarr pack: its arrays, or an error that names it; and metadata that stays below the root.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "pack/zarr/hierarchy.h"
#include "store/memory_store.h"

namespace {

using namespace penstock;

void demand(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string record(reinterpret_cast<const char*>(data), size);
  const auto arrays = arrays_of_record(record, "z");
  if (!arrays) demand(arrays.error().where.uri == "z/.penstock-pack.json", "errors name the record");
  if (arrays)
    for (const PackedArray& array : *arrays) {
      demand(is_new_node_name(array.name), "names stay below the root");
      demand(array.chunks_per_shard() <= (1U << 22), "indexes are limited");
      if (array.shards() > 0) demand(array.samples_of(array.shards() - 1) > 0, "the last shard has samples");
    }
  MemoryStore store;
  const auto written = write_metadata(store, "z", record);
  demand(written.has_value() == store.stat("z/zarr.json").has_value(), "the root comes last");
  const auto everything = store.list("z", {.is_recursive = true});
  if (everything)
    for (const FolderEntry& entry : *everything) {
      demand(entry.name.ends_with("zarr.json"), "nothing else is written");
      demand(entry.name.find("..") == std::string::npos || entry.name.find("/../") == std::string::npos, "no way out");
    }
  return 0;
}
