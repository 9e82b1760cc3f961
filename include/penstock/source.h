// A Source says what the samples of a data set are: how many there are, which fields each of them has, and where the
// bytes of a field are stored. A Loader decides which sample comes when, and reads it.
//
// Sources are made by the open_ functions below. A source is immutable: any number of threads and loaders may use one
// at the same time, and each of them shares its ownership. Opening reads directories, indexes and headers, never all
// data; it fails with an Error that names the file.
//
//   auto train = penstock::open_source("shards/train-{000..146}.tar");
//   if (!train) return report(train.error());
//   auto parts = penstock::split(*train, 0.9, /*seed=*/1);
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "penstock/array.h"
#include "penstock/result.h"

namespace penstock {

// These types are for the engine; src/source has a header for each of them.
class SampleDraws;
struct ArrayBox;
struct ArrayLayout;
struct Extent;
struct Mixture;
struct OpenedRecord;
struct RecordValue;
struct SourceStorage;

enum class FieldKind : std::uint8_t {
  kImage,    // encoded picture
  kMask,     // encoded picture whose values are classes, which are never interpolated
  kArray,    // numbers
  kInteger,  // a label
  kText,     // a key or caption in UTF-8
  kJson,     // text that is one JSON value
  kBytes,    // anything else; it is delivered unchanged
};

std::string_view name_of(FieldKind kind);  // "image", "mask", ...

// How the value of a field is found for one sample.
enum class FieldForm : std::uint8_t {
  kFile,      // extent() holds a file of the field's kind: an image, a .npy file, text
  kElements,  // extent() holds the elements of an array, as array_layout() says
  kRecord,    // extent() holds a record, in which find_in_record() finds the value
  kIndex,     // value() returns it: the index itself holds the value
  kChunks,    // boxes() lists the boxes of chunked arrays that make the value
};

struct FieldInfo {
  std::string name;
  FieldKind kind;
  FieldForm form = FieldForm::kFile;
  bool is_everywhere = true;  // every sample has the field; batches contain it without being asked
  bool is_class = false;      // its numbers are positions in classes()
  bool keeps_type = false;    // a coordinate or a label: LoaderOptions::dtype, which is meant for data, leaves it alone
};

// A value that the index holds. Numbers are delivered in the type that they have here.
using IndexValue = std::variant<std::int64_t, double, float, std::string, std::vector<std::int64_t>>;

// The files of a folder that are not samples because their endings are not known.
struct LeftOutFiles {
  std::map<std::string, std::uint64_t> by_ending;  // number of files; "txt", or "" for names without an ending
  std::string example;                             // path of one of them, relative to the folder

  std::uint64_t count() const;
  // "9 files were left out: .xyz (7), .txt (2); for example a/b.xyz"
  std::string describe() const;
};

// All functions are const and thread-safe. Sources are shared by SourcePtr; a loader keeps a copy of it. `sample` must
// be below size() and `field` below fields().size(); this is not checked.
class Source {
 public:
  virtual ~Source() = default;

  // ---- What the source is.

  virtual std::uint64_t size() const = 0;  // number of samples; of drawn samples, the number that can be drawn
  virtual const std::vector<FieldInfo>& fields() const = 0;
  virtual std::string kind() const = 0;  // "image folder", "npy array", ...
  virtual std::string uri() const = 0;   // as the user gave it, without passwords and signatures
  virtual std::string key(std::uint64_t sample) const = 0;
  // Class names in the order of their labels; empty if there are none.
  virtual const std::vector<std::string>& classes() const;
  // A hash of keys and sizes, not of paths or times. A saved state can be resumed only if it is equal.
  virtual std::uint64_t fingerprint() const = 0;
  // Returns nullptr if the source is not a folder, or if all its files are samples.
  virtual const LeftOutFiles* left_out() const { return nullptr; }
  // Number of windows over several steps that are not samples because time has a gap between their steps.
  virtual std::uint64_t windows_left_out() const { return 0; }

  // ---- Values. FieldInfo::form says which of these functions a field has.

  // Fails with kNotFound if this sample does not have the field.
  virtual Result<Extent> extent(std::uint64_t sample, std::size_t field) const = 0;
  virtual IndexValue value(std::uint64_t sample, std::size_t field) const;
  // Appends the boxes that together make the value, whose type and shape array_layout() gives.
  virtual void boxes(std::uint64_t sample, std::size_t field, std::vector<ArrayBox>& out) const;
  // Describes how the arrays of a field are stored; nullptr if samples differ.
  virtual const ArrayLayout* array_layout(std::size_t field) const;

  // A record is opened once, then its fields are found one after another. `charge` is called before memory is
  // allocated that lives as long as the opened record. `allocate` returns memory that stays valid until the next call;
  // it is for values that do not occur in the record in the form in which they are delivered.
  using Charge = std::function<Status(std::uint64_t bytes)>;
  using Allocate = std::function<Result<std::span<std::byte>>(std::size_t)>;
  virtual Result<OpenedRecord> open_record(std::uint64_t sample, std::span<const std::byte> stored,
                                           const Charge& charge) const;
  virtual Result<RecordValue> find_in_record(std::uint64_t sample, std::size_t field, const OpenedRecord& record,
                                             const Allocate& allocate) const;
  // Two sources that make different values of the same record have different numbers here.
  virtual std::uint64_t record_reading(std::size_t) const { return 0; }

  // ---- How the samples are stored. This is known when the source is opened, and does not change.

  virtual const SourceStorage& storage() const = 0;
  virtual std::uint64_t stored_bytes_of(std::uint64_t sample) const = 0;

  // ---- How samples are drawn. Both are nullptr if an epoch visits each sample once.

  virtual const SampleDraws* draws() const { return nullptr; }
  virtual const Mixture* mixture() const { return nullptr; }
};

using SourcePtr = std::shared_ptr<const Source>;

struct OpenOptions {
  std::string kind;   // "images", "npy", "tar", "tfrecord", "manifest", "packed", "zarr" or "mds"; "": it is detected
  std::string masks;  // for image folders: a folder that has a mask for each image
  // For manifests: the folder that paths are relative to and may not leave ("": the manifest's own), and the columns
  // that become fields, as {field, column} (empty: all columns, under their own names).
  std::string root;
  std::vector<std::pair<std::string, std::string>> columns;
  // Separates the cells of a .csv or .tsv file. 0: a tab for .tsv. For .csv it is a comma, or, if the line of names has
  // no comma and the first rows agree on one of them, ';' or a tab.
  char delimiter = 0;
  // The kinds of fields (or columns) whose kind differs from what their names suggest: "image", "mask", "npy",
  // "integer", "text", "json", "bytes", or elements as in "float32[3,224,224]". The numbers of a table are float64;
  // "float32" rounds them.
  std::map<std::string, std::string> field_kinds;
  bool verify_checksums = true;
  // Memory that opening may use while it works, in addition to the index that the source keeps; 0: a quarter of the
  // free memory.
  std::uint64_t memory_bytes = 0;
  std::string cache_dir;   // the folder of saved indexes; "": PENSTOCK_CACHE_DIR, or the user's cache folder
  bool keep_index = true;  // use a saved index, and save a new one
  // Called now and then on the calling thread. Opening stops with kStopped when it returns false.
  std::function<bool(std::uint64_t files)> progress;
  std::function<void(const std::string&)> warn;  // receives warnings, on the calling thread; may be empty
  // If set, a shard that cannot be read to its end is reported here, on the calling thread, and its samples before the
  // damage are used. Otherwise opening fails.
  std::function<void(const Error&)> on_bad_shard;
  // For URLs: "Name: value" lines that are sent with each request to the server of the URL, and to no other server.
  std::vector<std::string> headers;
};

// Opens a path, a glob or a brace pattern. A folder of folders has one class per folder; a folder of files has no
// classes; one .npy file is an array of samples; .tar and .tfrecord files are shards of one data set; a .csv or .jsonl
// file is a table of samples.
Result<SourcePtr> open_source(const std::string& uri, const OpenOptions& options = {});

// Opens several paths or patterns as one source, in the order given. Shards and files follow one another; folders are
// opened one by one and joined, so their classes must agree. A .npy file in a list is one sample, even if it is the
// only one in the list.
Result<SourcePtr> open_source(const std::vector<std::string>& uris, const OpenOptions& options = {});

// Images or .npy files that the caller lists, each with a label. Keys are the paths; relative paths start at the
// working folder.
struct LabelledFiles {
  std::vector<std::string> paths;
  std::vector<std::int64_t> labels;  // one per path
  std::vector<std::string> classes;  // names of the labels; may be empty
};
Result<SourcePtr> open_labelled_files(const LabelledFiles& files, const OpenOptions& options = {});

// The functions below make a source from others, whose ownership it shares. They read no data. They fail with
// kInvalidArgument if an argument does not fit, and with kUnsupported for sources that cannot be read in another order,
// as compressed shards cannot.

// The same samples, with other names for some fields: {old name, new name}.
Result<SourcePtr> rename_fields(SourcePtr source, const std::map<std::string, std::string>& new_names);

// The chosen samples, in the order given.
Result<SourcePtr> subset(SourcePtr source, std::vector<std::uint64_t> indices);

struct Split {
  SourcePtr first, second;
};

// A seeded random division into round(fraction * size) samples and the rest. Both keep the order of the source.
Result<Split> split(const SourcePtr& source, double fraction, std::uint64_t seed);

// The numbers below `size` in the seeded random order that split() divides.
std::vector<std::uint64_t> shuffled(std::uint64_t size, std::uint64_t seed);

// Several sources with the same fields as one; they may be stored in different places, such as a disk and a server.
// Without weights, an epoch visits every sample of each part once. With weights, each part makes up its share of the
// samples, so that samples of small parts come more often.
Result<SourcePtr> mix(std::vector<SourcePtr> parts, std::vector<double> weights);

// ---- Sources of large arrays: Zarr hierarchies and patches of volumes.
//
// Their open functions may be called from any thread. Errors name the file or the option.
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
