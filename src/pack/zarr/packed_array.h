// The form of one array of a Zarr hierarchy that is being written: its shape, its chunks, its shards.
//
// The first axis counts samples. A shard holds `shard_samples` consecutive samples, whole along all other axes; the last
// one of an array may be partly empty. Everything here follows from the source and the options alone, so that every
// process that packs a part comes to the same form. A plain value.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "penstock/array.h"

namespace penstock {

// Whether a new array may have this path below the root: it does not lead out of the hierarchy, and no part of it is a
// name that Zarr reserves.
bool is_new_node_name(std::string_view path);

struct PackedArray {
  std::string name;  // path below the root of the hierarchy
  ArraySpec sample;
  std::uint64_t samples = 0;
  Shape chunk;                     // the first axis counts samples; no extent is 0
  std::int64_t shard_samples = 1;  // a multiple of chunk.front()
  int level = 3;                   // of zstd
  std::array<std::byte, 16> fill{};  // one element in the byte order of this machine
  std::string fill_json;
  std::vector<std::string> dimensions;  // one per axis
  std::string attributes = "{}";        // a JSON object

  Shape shape() const;
  Shape shard_shape() const;
  Shape chunks_of_shard() const;  // the number of chunks along each axis of a shard
  std::uint64_t chunks_per_shard() const { return element_count(chunks_of_shard()); }
  std::uint64_t chunk_bytes() const { return element_count(chunk) * size_of(sample.dtype); }
  // The chunks of a shard that have the same position along the first axis.
  std::uint64_t chunks_of_slab() const;
  // 0 if samples have no elements.
  std::uint64_t shards() const;
  // Number of samples that the shard holds.
  std::uint64_t samples_of(std::uint64_t shard) const;
  std::string shard_key(const std::string& root, std::uint64_t shard) const;
};

}  // namespace penstock
