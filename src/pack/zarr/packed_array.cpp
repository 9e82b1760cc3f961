#include "pack/zarr/packed_array.h"

#include <fmt/format.h>

#include <algorithm>

#include "source/zarr/metadata/metadata_object.h"

namespace penstock {

bool is_new_node_name(std::string_view path) {
  if (!is_node_name(path)) return false;
  while (true) {
    const std::size_t end = path.find('/');
    const std::string_view part = path.substr(0, end);
    const bool is_dots = part.find_first_not_of('.') == std::string_view::npos;
    const bool is_odd = std::ranges::any_of(part, [](unsigned char c) { return c < 0x20; });
    if (is_dots || is_odd || part.starts_with("__") || part == "zarr.json" || part == "c") return false;
    if (end == std::string_view::npos) return true;
    path.remove_prefix(end + 1);
  }
}

Shape PackedArray::shape() const {
  Shape all{static_cast<std::int64_t>(samples)};
  all.insert(all.end(), sample.shape.begin(), sample.shape.end());
  return all;
}

Shape PackedArray::chunks_of_shard() const {
  Shape grid{shard_samples / chunk.front()};
  for (std::size_t d = 0; d < sample.shape.size(); ++d)
    grid.push_back(std::max<std::int64_t>((sample.shape[d] + chunk[d + 1] - 1) / chunk[d + 1], 1));
  return grid;
}

Shape PackedArray::shard_shape() const {
  Shape shard = chunks_of_shard();
  for (std::size_t d = 0; d < shard.size(); ++d) shard[d] *= chunk[d];
  return shard;
}

std::uint64_t PackedArray::chunks_of_slab() const {
  return chunks_per_shard() / static_cast<std::uint64_t>(shard_samples / chunk.front());
}

std::uint64_t PackedArray::shards() const {
  if (element_count(sample.shape) == 0) return 0;
  const auto length = static_cast<std::uint64_t>(shard_samples);
  return (samples + length - 1) / length;
}

std::uint64_t PackedArray::samples_of(std::uint64_t shard) const {
  const auto length = static_cast<std::uint64_t>(shard_samples);
  return std::min(length, samples - shard * length);
}

std::string PackedArray::shard_key(const std::string& root, std::uint64_t shard) const {
  std::string key = fmt::format("{}/{}/c/{}", root, name, shard);
  for (std::size_t d = 0; d < sample.shape.size(); ++d) key += "/0";
  return key;
}

}  // namespace penstock
