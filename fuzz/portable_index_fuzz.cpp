// The index beside a packed shard: whatever stands in the file, an error or an index whose every part can be looked at. The
// checksum at its end is made right, so that what lies behind it is reached.
#include <cstring>
#include <vector>

#include "base/crc32c.h"
#include "source/packed/pack_description.h"
#include "source/packed/portable_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(begin, begin + size);
  if (size >= 24) {
    const std::uint64_t checksum = crc32c(ConstBytes(bytes).first(size - 8));
    std::memcpy(bytes.data() + size - 8, &checksum, 8);
  }
  const auto index = PortableIndex::parse(bytes, "shard.index");
  if (!index) return 0;
  std::uint64_t sum = 0;
  for (std::uint64_t sample = 0; sample < index->samples(); ++sample) sum += index->key(sample).size();
  for (std::uint64_t member = 0; member < index->members(); ++member) {
    if (index->offsets[member] + index->lengths[member] > index->shard_bytes) __builtin_trap();
    sum += index->names[index->name_of_member[member]].name.size() + index->checksums[member];
  }
  // What was read can be written, and is the same again.
  const auto again = PortableIndex::parse(index->serialise(), "shard.index");
  if (!again || again->offsets != index->offsets || again->keys != index->keys) __builtin_trap();
  (void)PackDescription::parse(index->description, "shard.index");
  return sum == ~std::uint64_t{0};
}
