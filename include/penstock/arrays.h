// Sources of large arrays: Zarr hierarchies and patches of volumes.
//
// The open functions may be called from any thread. They return an immutable, thread-safe source that the caller
// shares, or an error that names the file or the option.
//
//   ZarrOptions zarr;
//   zarr.variables = {"t2m", "msl"};
//   zarr.sample_dim = "time";
//   zarr.history = {-1, 0};
//   zarr.horizon = {1};
//   auto weather = open_zarr("era5.zarr", zarr);
//   if (!weather) return report(weather.error());
//
//   PatchOptions patches;
//   patches.size = {64, 64, 64};
//   patches.per_epoch = 10'000;
//   patches.labels = {"labels.npy"};
//   auto volume = open_patches({"image.npy"}, patches);
//   if (!volume) return report(volume.error());
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

// A date in a selection. "2019-03" means all of March, or only its first moment if `is_moment` is set.
struct CoordinateDate {
  std::string text;  // ISO 8601
  bool is_moment = false;
  std::string calendar;  // empty: that of the coordinate; any other one must equal it
};
// A label from a command line: a date if the coordinate is a time, otherwise a number.
struct TypedCoordinate {
  std::string text;
};
using CoordinateLabel = std::variant<double, CoordinateDate, TypedCoordinate>;

// A selection of entries of a dimension by coordinate, with the meaning of `sel` in xarray:
// - A single label drops the axis, unless it is a date that means several entries.
// - A list of labels selects exactly these entries, in this order.
// - A range includes both ends and takes every `step`-th entry. A missing end is the end of the axis. On a falling
//   coordinate, the ends may be in either order. On a rising coordinate, a range that ends before it begins wraps
//   around if the coordinate is a full circle. A negative step takes the entries backwards, from `from` down to `to`.
struct CoordinateRange {
  std::optional<CoordinateLabel> from, to;
  std::int64_t step = 1;
};
using Selection = std::variant<CoordinateLabel, std::vector<CoordinateLabel>, CoordinateRange>;

// A selection of entries of a dimension by position: a single position, which drops the axis; a list of positions, in
// this order; a mask with one value per entry; or a slice as in Python. Negative positions count from the end.
struct IndexRange {
  std::optional<std::int64_t> first, end;
  std::int64_t step = 1;
};
using Positions = std::variant<std::int64_t, std::vector<std::int64_t>, std::vector<bool>, IndexRange>;

// How a chunk that the store does not have is treated. Unless the user declares the array sparse (kFill), a server is
// asked for a missing chunk a second time.
enum class MissingChunk : std::uint8_t {
  kFillIfGone,  // is replaced by the fill value and counted in the statistics; `penstock verify` reports an error
  kFill,        // is replaced by the fill value, because the array is sparse
  kError,       // fails the sample
};

struct ZarrOptions {
  std::vector<std::string> variables;             // empty: the array, or all arrays that have the sample dimension
  std::variant<std::string, int> sample_dim = 0;  // its name, or its axis
  // Steps of the sample dimension, relative to that of the sample, which become its fields. If both are empty, a
  // sample has its own step only. {-1, 0} and {1, 2, 3} mean the previous and the current step, and the next three.
  std::vector<std::int64_t> history, horizon;
  // Selections by name of the dimension. A dimension may be in only one of the two lists.
  std::vector<std::pair<std::string, Selection>> select;
  std::vector<std::pair<std::string, Positions>> isel;
  // For a sample dimension with dates: whether a window may contain a gap (a step of more than 1.5 times the median
  // step) or a time that does not increase. By default, such windows are skipped.
  enum class Gaps : std::uint8_t { kSkip, kAllow } gaps = Gaps::kSkip;
  std::string stack;      // unless empty, all variables become channels of one field with this name
  bool decode_cf = true;  // scale_factor, add_offset, _FillValue, missing_value
  enum class Nan : std::uint8_t { kKeep, kError, kReplace } nan = Nan::kKeep;
  double nan_value = 0;  // kReplace
  MissingChunk missing = MissingChunk::kFillIfGone;
  std::vector<std::string> headers;  // as in OpenOptions
  std::uint64_t memory_bytes = 0;    // as in OpenOptions
};

// Opens a Zarr array or group (version 2 or 3), local or over HTTP. Each variable (or the stack of all) is one field,
// or two fields if there are a history and a horizon ("t2m_history", "t2m_horizon").
Result<SourcePtr> open_zarr(const std::string& uri, const ZarrOptions& options = {});

// Opens several stores as one source. Each uri, like the single one above, may be a glob or brace pattern
// ("era5-{2015..2019}.zarr"). Stores with the same variables are joined along the sample dimension, in the order given;
// windows may extend across stores. Stores with different variables of the same samples are put side by side. Each
// store has its own coding. Fails with an error that names two stores if they cannot be joined.
Result<SourcePtr> open_zarr(const std::vector<std::string>& uris, const ZarrOptions& options = {});

// A part of an axis, from `begin` to before `end`. Negative numbers count from the end, as in Python.
struct AxisRange {
  std::int64_t begin = 0, end = std::numeric_limits<std::int64_t>::max();
};

// One axis of the pages of a TIFF file: "Z", "C", "T" or another letter.
struct PageAxis {
  char name = 'Z';
  std::int64_t size = 0;  // 0: from the metadata of the file, or from the number of pages
};

struct PatchOptions {
  std::vector<std::int64_t> size;     // extents of a patch along the last axes of the volumes
  std::uint64_t per_epoch = 0;        // number of random patches; 0: a grid that covers everything
  std::vector<std::int64_t> overlap;  // per axis of a grid: elements that neighbouring patches share
  std::vector<std::string> labels;    // one label volume per volume, of the same shape

  // Allowed positions. Patches lie completely within the region (one range per axis of a patch; empty: the whole
  // volume). With masks (one for all volumes, or one per volume), a random patch is allowed if its centre voxel,
  // origin + size / 2, is not 0 in the mask, and a patch of a grid if any of its voxels is not 0 in the mask.
  std::vector<AxisRange> region;
  std::vector<std::string> masks;
  double min_foreground = 0;  // minimum share of voxels of a random patch whose label is not 0

  // Probabilities. All allowed positions are equally likely unless volumes (one weight each) or classes (label of the
  // centre voxel, weight) have weights. The shares of classes are exact; the weights of volumes then divide the share
  // of each class among the volumes that contain it.
  std::vector<double> volume_weights;
  std::vector<std::pair<std::int64_t, double>> class_weights;

  // Decoding of stored numbers. CF attributes of Zarr arrays are applied to images, and to labels only if they are
  // scaled.
  bool decode_cf = true;
  ZarrOptions::Nan nan = ZarrOptions::Nan::kKeep;
  double nan_value = 0;
  std::vector<PageAxis> axes;  // of the pages of TIFF images; empty: from their metadata
  MissingChunk missing = MissingChunk::kFillIfGone;
  // Called now and then, on one thread at a time, while labels and masks are read. Opening stops with kStopped when it
  // returns false.
  std::function<bool(std::uint64_t)> progress;
  std::vector<std::string> headers;  // as in OpenOptions
  std::uint64_t memory_bytes = 0;    // as in OpenOptions
};

// Opens volumes (Zarr arrays, .npy files, TIFF stacks) as a source of patches. Its fields are image, label (if there
// are labels), position and volume.
Result<SourcePtr> open_patches(const std::vector<std::string>& volumes, const PatchOptions& options);

}  // namespace penstock
