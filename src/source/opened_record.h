// A record of a shard, and the values that are found in it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "penstock/array.h"

namespace penstock {

// A record whose checksums were verified.
struct OpenedRecord {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> contents;  // what the source parsed, for all fields; may be nullptr
};

// The value of one field of a record.
struct RecordValue {
  std::span<const std::byte> bytes;  // a file, or the elements of an array where `elements` is given
  std::optional<ArraySpec> elements;
};

}  // namespace penstock
