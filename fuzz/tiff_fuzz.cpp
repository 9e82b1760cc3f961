#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/memory/scratch.h"
#include "source/volume/tiff_volume.h"
#include "store/memory_store.h"

namespace {

[[noreturn]] void broken(const char* promise) {
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  constexpr std::uint64_t kMaxChunks = 64;
  constexpr std::size_t kMaxChunkBytes = 1 << 18;
  const ConstBytes file = as_bytes(data, size);
  auto store = std::make_shared<MemoryStore>();
  store->put("a.tif", {file.begin(), file.end()});
  const auto array = open_tiff_volume(store, "a.tif", {"a.tif"});
  if (!array) {
    if (array.error().where.uri != "a.tif") broken("errors name the file");
    return 0;
  }
  Ledger ledger(16 << 20);
  ScratchBudget budget(ledger, 16 << 20, 0);
  Scratch scratch(budget);
  CodecWorker worker(scratch, 0);
  std::vector<std::byte> decoded;
  for (std::uint64_t chunk = 0; chunk < std::min((*array)->chunks(), kMaxChunks); ++chunk) {
    const std::size_t bytes = (*array)->chunk_bytes(chunk);
    const Shape strides = (*array)->chunk_strides(chunk);
    if (strides.front() != static_cast<std::int64_t>(bytes)) broken("a chunk is one page thick");
    const auto place = (*array)->location(chunk);
    if (!place) broken("places are known");
    if (bytes > kMaxChunkBytes) continue;
    decoded.assign(bytes, std::byte{0xaa});
    if (place->is_missing) {
      if (!(*array)->fill_missing(chunk, decoded)) broken("what is missing has a value");
      continue;
    }
    const ByteRange range = place->read.range;
    if (range.offset > size || range.length > size - range.offset) broken("chunks lie within the file");
    const auto status = (*array)->decode(chunk, file.subspan(range.offset, range.length), decoded, worker);
    if (!status && status.error().where.uri != "a.tif") broken("errors name the file");
    if (!status && (*array)->is_plain()) broken("plain chunks are always whole");
  }
  return 0;
}
