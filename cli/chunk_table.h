// Describes how the arrays of a chunked source are stored: chunks, codecs and sizes.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "penstock/source.h"

namespace penstock::cli {

struct StoredArray {
  ArraySpec spec;
  Shape chunk_shape;
  std::uint64_t chunks = 0;
  std::string codecs;                        // "blosc lz4", "uncompressed"; empty if unknown
  std::uint64_t looked_at = 0, missing = 0;  // numbers of chunks
  std::size_t arrays = 1;                    // number of arrays that the field is made of; they are all alike

  std::string describe() const;
  nlohmann::ordered_json to_json() const;
};

struct StoredArrays {
  std::vector<std::optional<StoredArray>> of_fields;  // by field; empty if it is not made of chunks
  double stored_bytes = -1;  // size of the chunks of all samples, estimated from a few; -1: unknown
};

// Returns nothing if the source has no chunked arrays. It asks for the sizes of a few chunks and reads none.
std::optional<StoredArrays> look_at_arrays(const Source& source);

}  // namespace penstock::cli
