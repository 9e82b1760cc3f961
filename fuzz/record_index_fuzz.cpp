// The kept index of shards: whatever stands in the file, an error or an index whose every part can be
// looked at. The checksum at its end is made right, so that what lies behind it is reached.
#include <cstring>
#include <vector>

#include "base/crc32c.h"
#include "source/index/record_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(begin, begin + size);
  if (size >= 16) {
    const std::uint64_t checksum = crc32c(ConstBytes(bytes).first(size - 8));
    std::memcpy(bytes.data() + size - 8, &checksum, 8);
  }
  const auto index = RecordIndex::parse(std::move(bytes));
  if (!index) return 0;
  std::uint64_t sum = 0;
  for (std::uint64_t sample = 0; sample < index->size(); ++sample) {
    sum += index->key(sample).size() + index->shard_of(sample);
    for (std::uint64_t i = 0; i < index->member_count(sample); ++i)
      sum += index->field_names()[index->member(sample, i).field].size();
  }
  for (std::size_t shard = 0; shard < index->shards().size(); ++shard) sum += index->samples_of_shard(shard);
  return sum == ~std::uint64_t{0};
}
