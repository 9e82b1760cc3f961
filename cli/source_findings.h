// The findings of penstock inspect about a source: classes, shapes, sizes and errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chunk_table.h"
#include "penstock/source.h"

namespace penstock::cli {

struct ClassCount {
  std::string name;
  std::optional<std::uint64_t> samples;  // empty: the labels are in the samples, and were not read
};

struct ShapeCount {
  std::string field;
  ArraySpec spec;
  std::uint64_t samples = 0;  // number of inspected samples with this shape
};

// A plain value.
struct Findings {
  std::vector<ClassCount> classes;
  std::vector<ShapeCount> shapes;  // the most frequent first
  std::vector<Error> broken, bad_shards;
  std::uint64_t sampled = 0, broken_samples = 0;
  std::uint64_t shards = 0;                 // 0: the source has no shards
  std::vector<std::uint64_t> samples_with;  // by field of the source: number of inspected samples that have it
  std::optional<StoredArrays> arrays;
  double decoded_bytes = -1;  // of all samples, estimated from the inspected ones; -1: unknown
  double stored_bytes = 0;
  bool decoded_is_estimate = false, stored_is_estimate = false;
};

// Counts the classes and shards of the source, and reads and decodes at most 64 of its samples. A sample that cannot be
// read is reported in the findings; this fails only if no sample can be visited at all. Shows its progress on stderr.
Result<Findings> look_at(const SourcePtr& source);

}  // namespace penstock::cli
