// How the arrays of a chunked source are stored: chunks, codecs, and what they take.
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
  std::string codecs;                        // "blosc lz4", "uncompressed"; empty: not known
  std::uint64_t looked_at = 0, missing = 0;  // chunks
  std::size_t arrays = 1;                    // that the field is made of; the others are like this one

  std::string describe() const;
  nlohmann::ordered_json to_json() const;
};

struct StoredArrays {
  std::vector<std::optional<StoredArray>> of_fields;  // in the order of the fields; nothing: not made of chunks
  double stored_bytes = -1;  // what all samples are made of, from a few chunks; -1: not known
};

// Nothing where the source has no chunked arrays. A few chunks are looked for, none is read.
std::optional<StoredArrays> look_at_arrays(const Source& source);

}  // namespace penstock::cli
