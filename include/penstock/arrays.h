// Sources of large arrays: Zarr hierarchies, and patches of volumes.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "penstock/source.h"

namespace penstock {

// Part of a dimension: by index (step and open ends as in Python), by coordinates (both ends
// included), or by dates (both included; "2019" is the whole year).
struct IndexRange {
  std::optional<std::int64_t> first, end;
  std::int64_t step = 1;
};
struct CoordinateRange {
  double from = 0, to = 0;
};
struct DateRange {
  std::string from, to;
};
using Selection = std::variant<IndexRange, CoordinateRange, DateRange>;

enum class MissingChunk : std::uint8_t { kFill, kError };

struct ZarrOptions {
  std::vector<std::string> variables;             // empty: the array, or all that have the sample dimension
  std::variant<std::string, int> sample_dim = 0;  // its name, or its axis
  // Steps of the sample dimension, relative to the sample's own, that make its fields; both empty: the
  // sample alone. {-1, 0} and {1, 2, 3}: two steps up to now, and the three after.
  std::vector<std::int64_t> history, horizon;
  std::vector<std::pair<std::string, Selection>> select;  // by dimension
  std::string stack;      // not empty: all variables become channels of one field of this name
  bool decode_cf = true;  // scale_factor, add_offset, _FillValue, missing_value
  enum class Nan : std::uint8_t { kKeep, kError, kReplace } nan = Nan::kKeep;
  float nan_value = 0;  // kReplace
  MissingChunk missing = MissingChunk::kFill;
  std::vector<std::string> headers;  // as in OpenOptions
};

// A Zarr array or group (version 2 or 3), local or over HTTP. A field a variable; with a history and
// a horizon two ("t2m_history", "t2m_horizon"), stacked or not.
Result<SourcePtr> open_zarr(const std::string& uri, const ZarrOptions& options = {});

struct PatchOptions {
  std::vector<std::int64_t> size;     // of a patch, for the last axes of the volumes
  std::uint64_t per_epoch = 0;        // random patches; 0: a grid that covers everything
  std::vector<std::int64_t> overlap;  // of the grid: elements that neighbours share, by axis
  std::vector<std::string> labels;    // a volume for each volume, of the same shape
  double min_foreground = 0;          // share of a random patch whose label is not 0
  MissingChunk missing = MissingChunk::kFill;
  std::function<bool(std::uint64_t)> progress;  // while labels are looked through; false stops
  std::vector<std::string> headers;             // as in OpenOptions
};

// Patches of volumes: Zarr arrays, .npy files, TIFF stacks. Fields image, label (where there are
// labels), position and volume.
Result<SourcePtr> open_patches(const std::vector<std::string>& volumes, const PatchOptions& options);

}  // namespace penstock
