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

// A date to select by. "2019-03" means all of March; `is_moment`: only its first moment.
struct CoordinateDate {
  std::string text;  // ISO 8601
  bool is_moment = false;
  std::string calendar;  // of the date, where it has one: it must be that of the coordinate
};
// As it was typed on a command line: a date where the coordinate is a time, else a number.
struct TypedCoordinate {
  std::string text;
};
using CoordinateLabel = std::variant<double, CoordinateDate, TypedCoordinate>;

// Part of a dimension by its coordinate, with the meaning that `sel` has in xarray: one value, which takes
// the axis away (a date that means many entries does not); exactly these values in this order; or a range
// that includes both ends, of which every `step`-th entry is taken. An open end is that of the axis. On a
// falling coordinate the ends may stand in either order; on a rising one, a range that ends before it begins
// wraps around where the coordinate is a whole circle. A negative step takes the entries backwards, from
// `from` down to `to`.
struct CoordinateRange {
  std::optional<CoordinateLabel> from, to;
  std::int64_t step = 1;
};
using Selection = std::variant<CoordinateLabel, std::vector<CoordinateLabel>, CoordinateRange>;

// Part of a dimension by position: one, which takes the axis away, several in this order, those where a mask
// (one value per entry) is true, or a slice as in Python. Negative positions count from the end.
struct IndexRange {
  std::optional<std::int64_t> first, end;
  std::int64_t step = 1;
};
using Positions = std::variant<std::int64_t, std::vector<std::int64_t>, std::vector<bool>, IndexRange>;

// What becomes of a chunk that the store does not have. Where missing chunks are not known to be meant, a server is
// asked for the chunk once more.
enum class MissingChunk : std::uint8_t {
  kFillIfGone,  // the fill value; counted in the statistics, and an error to `penstock verify`
  kFill,        // the fill value: the array is sparse
  kError,
};

struct ZarrOptions {
  std::vector<std::string> variables;             // empty: the array, or all that have the sample dimension
  std::variant<std::string, int> sample_dim = 0;  // its name, or its axis
  // Steps of the sample dimension, relative to the sample's own, that make its fields; both empty: the
  // sample alone. {-1, 0} and {1, 2, 3}: two steps up to now, and the three after.
  std::vector<std::int64_t> history, horizon;
  // By dimension. A dimension stands in one of them.
  std::vector<std::pair<std::string, Selection>> select;
  std::vector<std::pair<std::string, Positions>> isel;
  // Where the sample dimension has dates: is a window a sample although it runs over a gap (a step of more than
  // 1.5 times the median step) or time does not increase in it?
  enum class Gaps : std::uint8_t { kSkip, kAllow } gaps = Gaps::kSkip;
  std::string stack;      // not empty: all variables become channels of one field of this name
  bool decode_cf = true;  // scale_factor, add_offset, _FillValue, missing_value
  enum class Nan : std::uint8_t { kKeep, kError, kReplace } nan = Nan::kKeep;
  double nan_value = 0;  // kReplace
  MissingChunk missing = MissingChunk::kFillIfGone;
  std::vector<std::string> headers;  // as in OpenOptions
  std::uint64_t memory_bytes = 0;    // as in OpenOptions
};

// A Zarr array or group (version 2 or 3), local or over HTTP. A field a variable; with a history and
// a horizon two ("t2m_history", "t2m_horizon"), stacked or not.
Result<SourcePtr> open_zarr(const std::string& uri, const ZarrOptions& options = {});

// Several stores as one source; each may be a glob or brace pattern ("era5-{2015..2019}.zarr"), and so may the
// single uri above. Stores that hold the same variables are joined along the sample dimension, in the order given,
// with windows across the joints; stores that hold different variables of the same samples are put side by side.
// Each store keeps its own coding. Fails, and names two stores, where they do not go together.
Result<SourcePtr> open_zarr(const std::vector<std::string>& uris, const ZarrOptions& options = {});

// Part of an axis, from `begin` to before `end`; negative numbers count from the end, as in Python.
struct AxisRange {
  std::int64_t begin = 0, end = std::numeric_limits<std::int64_t>::max();
};

// One axis of the pages of a TIFF file: "Z", "C", "T" or another letter.
struct PageAxis {
  char name = 'Z';
  std::int64_t size = 0;  // 0: as the file's metadata says, or what the number of pages leaves
};

struct PatchOptions {
  std::vector<std::int64_t> size;     // of a patch, for the last axes of the volumes
  std::uint64_t per_epoch = 0;        // random patches; 0: a grid that covers everything
  std::vector<std::int64_t> overlap;  // of the grid: elements that neighbours share, by axis
  std::vector<std::string> labels;    // a volume for each volume, of the same shape

  // Where patches may lie. Whole patches lie within the region (one range per axis of a patch; empty:
  // everywhere). Masks (one for all volumes, or one each) keep random patches whose centre voxel,
  // origin + size / 2, is not 0 in the mask, and those patches of a grid that have any such voxel.
  std::vector<AxisRange> region;
  std::vector<std::string> masks;
  double min_foreground = 0;  // share of a random patch whose label is not 0

  // How often. Every place that is allowed is equally likely, unless volumes (one weight each) or classes
  // (label of the centre voxel, weight) are given shares. Class shares are exact; the weights of volumes
  // then divide each class among the volumes that have it.
  std::vector<double> volume_weights;
  std::vector<std::pair<std::int64_t, double>> class_weights;

  // What stored numbers mean. CF attributes of Zarr images are applied; labels only where they are scaled.
  bool decode_cf = true;
  ZarrOptions::Nan nan = ZarrOptions::Nan::kKeep;
  double nan_value = 0;
  std::vector<PageAxis> axes;  // of the pages of TIFF images; empty: as their metadata says
  MissingChunk missing = MissingChunk::kFillIfGone;
  std::function<bool(std::uint64_t)> progress;  // while labels and masks are read; false stops
  std::vector<std::string> headers;             // as in OpenOptions
  std::uint64_t memory_bytes = 0;               // as in OpenOptions
};

// Patches of volumes: Zarr arrays, .npy files, TIFF stacks. Fields image, label (where there are
// labels), position and volume.
Result<SourcePtr> open_patches(const std::vector<std::string>& volumes, const PatchOptions& options);

}  // namespace penstock
