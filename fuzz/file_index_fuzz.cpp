// The input is an index without its checksum, which is put on here: past it is where bugs would be.
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/crc32c.h"
#include "source/index/file_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  std::vector<std::byte> bytes(size + 4);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  const std::uint32_t sum = crc32c(ConstBytes(bytes).first(size));
  std::memcpy(bytes.data() + size, &sum, 4);
  (void)parse_index(as_bytes(data, size), "root");  // with whatever checksum it has
  const auto index = parse_index(bytes, "root");
  if (!index) return 0;
  for (const auto& file : index->files) (void)index->relative_path(file);
  const auto again = parse_index(serialise_index(*index, "root"), "root");
  if (!again || again->files.size() != index->files.size()) __builtin_trap();
  return 0;
}
