#include "source/chunked_array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/random.h"

namespace penstock {

ChunkedArray::ChunkedArray(std::string uri, ArraySpec spec, Shape chunk_shape)
    : uri_(std::move(uri)),
      spec_(std::move(spec)),
      chunk_shape_(std::move(chunk_shape)) {
  chunks_ = 1;
  for (std::size_t d = 0; d < spec_.shape.size(); ++d) {
    grid_.push_back((spec_.shape[d] + chunk_shape_[d] - 1) / chunk_shape_[d]);
    chunks_ *= static_cast<std::uint64_t>(grid_.back());
  }
}

ChunkedArray::Holder ChunkedArray::holder(std::uint64_t chunk) const {
  auto found = location(chunk);
  if (!found) return {uri_, std::nullopt};
  return {std::move(found->read.key), found->read.version};
}

std::uint64_t ChunkedArray::fingerprint() const {
  std::uint64_t hash = mix64(static_cast<std::uint64_t>(spec_.dtype));
  for (const std::int64_t extent : spec_.shape) hash = mix64(hash ^ static_cast<std::uint64_t>(extent));
  for (const std::int64_t extent : chunk_shape_) hash = mix64(hash ^ static_cast<std::uint64_t>(extent));
  return hash;
}

std::string describe_chunk(const ChunkedArray& array, std::uint64_t chunk) {
  Shape position(array.grid().size());
  for (std::size_t d = position.size(); d-- > 0;) {
    position[d] = static_cast<std::int64_t>(chunk % static_cast<std::uint64_t>(array.grid()[d]));
    chunk /= static_cast<std::uint64_t>(array.grid()[d]);
  }
  return fmt::format("{}", fmt::join(position, "."));
}

}  // namespace penstock
