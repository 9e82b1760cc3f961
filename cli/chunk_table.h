// How the arrays of a chunked source are stored: chunks, codecs, and what they take.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "penstock/source.h"

namespace penstock::cli {

struct StoredArray {
  ArraySpec spec;
  Shape chunk_shape;
  std::uint64_t chunks = 0;
  std::string codecs;                        // "blosc lz4", "uncompressed"; empty: not known
  double stored_bytes = -1;                  // what samples are made of, from a few chunks; -1: not known
  std::uint64_t looked_at = 0, missing = 0;  // chunks

  std::string describe() const;
  nlohmann::ordered_json to_json() const;
};

// One for each field of a source whose fields are arrays of their own (Zarr); empty otherwise. A few
// chunks of each are looked for, none is read.
std::vector<StoredArray> look_at_arrays(const Source& source);

}  // namespace penstock::cli
