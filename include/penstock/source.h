// What the samples are: how many, which fields, and where the bytes of each stand.
//
// A source is opened once, is immutable afterwards and may be shared by loaders and threads.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "penstock/array.h"
#include "penstock/result.h"

namespace penstock {

class ChunkedArray;
class Store;

enum class FieldKind : std::uint8_t {
  kImage,    // encoded picture
  kMask,     // encoded picture whose values are classes: never interpolated
  kArray,    // numbers
  kInteger,  // a label
  kText,     // a key or caption, UTF-8
  kJson,     // text that is one JSON value
  kBytes,    // anything else, handed on as it is
};

std::string_view name_of(FieldKind kind);  // "image", "mask", ...

// How a sample's value of the field is found.
enum class FieldForm : std::uint8_t {
  kFile,      // extent() holds an image, a .npy file, text, as its kind says
  kElements,  // extent() holds the elements of an array, as array_layout() says
  kRecord,    // extent() holds a record, in which find_in_record() finds the value
  kIndex,     // value(): the index itself holds it
  kChunks,    // boxes(): put together from boxes of arrays that are stored in chunks
};

struct FieldInfo {
  std::string name;
  FieldKind kind;
  FieldForm form = FieldForm::kFile;
  bool is_everywhere = true;  // every sample has it: part of a batch without being asked for
  bool is_class = false;      // its numbers are those of classes()
  bool keeps_type = false;    // a coordinate or a label: dtype= of the loader is for data, not for it
};

// Bytes of one field of one sample.
struct Extent {
  std::string object;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  static constexpr std::int64_t kUnknown = INT64_MIN;
  std::int64_t modified_ns = kUnknown;  // of the object when it was indexed, if it was
  std::uint64_t object_bytes = 0;
  bool shared_object = false;  // other samples live in it too: worth keeping open
  std::int64_t block = -1;     // in blocks(); -1: the object can be read anywhere. Offsets are then of
                               // the uncompressed bytes
};

// How the arrays of a field are stored, where all samples agree.
struct ArrayLayout {
  ArraySpec spec;
  bool fortran_order = false;
  bool swap_bytes = false;
  std::vector<std::byte> header;  // bytes before the data of each sample; empty: none
  // Which axis counts channels: -1: none does; nothing: the first or the last, whichever fits.
  std::optional<int> channel_axis;
  // Bit d: axis d is no direction in space (channels, steps of a window). Flips and turns leave it alone.
  std::uint8_t axes_not_in_space = 0;
  // Several variables in one array: how many channels each of them makes, in their order.
  std::vector<std::int64_t> channels_of_variables = {};
  bool is_time = false;  // int64 nanoseconds since 1970; the least number is no time (NaT)
};

// A record, its checksums verified.
struct OpenedRecord {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> contents;  // what its source found in it, for all fields; may be nothing
};

// What a record says about a field.
struct RecordValue {
  std::span<const std::byte> bytes;  // a file in small, or, with a spec, the elements of an array
  std::optional<ArraySpec> elements;
};

// A value that the index holds. Numbers are delivered in the type that they have here.
using IndexValue = std::variant<std::int64_t, double, float, std::string, std::vector<std::int64_t>>;

// Files of a folder that are no samples because of their ending.
struct LeftOutFiles {
  std::map<std::string, std::uint64_t> by_ending;  // "txt", "" for names without an ending; how many
  std::string example;                             // path of one of them, below the folder

  std::uint64_t count() const;
  // "9 files were left out: .xyz (7), .txt (2); for example a/b.xyz"
  std::string describe() const;
};

// How stored numbers become values (the CF conventions): value = stored * scale + offset.
struct ValueCoding {
  DType dtype = DType::kFloat32;  // of the values: float32, float64, or int64 where the scale is an integer
  double scale = 1, offset = 0;
  std::vector<double> missing;  // stored numbers that mean "no value"; not-a-number always does
  double instead_of_missing = 0;
  bool missing_is_error = false;
  bool operator==(const ValueCoding&) const = default;
};

constexpr int kMaxAxes = 8;

// A box of a chunked array that is part of a sample: along each axis of the array, `count` elements,
// `step` apart. Element (i, j, ...) of the box is element to + i * to_stride[0] + ... of the sample. Steps
// are positive; an axis that is taken backwards has a negative stride.
struct ArrayBox {
  using Axes = std::array<std::int64_t, kMaxAxes>;
  std::size_t array = 0;  // in chunked_arrays()
  Axes origin{}, count{}, step{};
  std::int64_t to = 0;
  Axes to_stride{};
  const ValueCoding* coding = nullptr;  // nullptr: values are as they are stored
};

// Samples that are drawn at random, per_epoch() of them in each epoch: patches of volumes. Neighbours form
// regions, which lie one after another on a line, each as long as its share of the draws. A pass cuts the
// line into equal visits. A visit makes several draws that lie close together on the line, so that what
// their samples share is read once.
class SampleDraws {
 public:
  virtual ~SampleDraws() = default;
  virtual std::uint64_t per_epoch() const = 0;
  virtual std::uint64_t visits_per_pass() const = 0;
  virtual std::uint64_t per_visit() const = 0;
  // A sample of the region at `point`, where the line ends at 2^64: uniformly at random by the key.
  virtual std::uint64_t draw(std::uint64_t point, std::uint64_t key) const = 0;
};

// Runs of consecutive samples that are stored, and best read, together.
struct StorageUnits {
  std::vector<std::uint64_t> first_sample;  // of each unit, and the number of samples at the end
  // The stream that each unit is part of, where the units of a stream can only be read one after
  // another; empty: units can be read in any order.
  std::vector<std::uint32_t> stream;
};

// A compressed object, as it was when it was indexed.
struct Stream {
  std::string object;
  std::int64_t modified_ns = 0;
  std::uint64_t object_bytes = 0;
  std::span<const std::uint32_t> checksums;  // of its uncompressed bytes, a MiB each
};

// A piece of a compressed object that is decompressed as a whole; the unit of a forward-only source.
struct StreamBlock {
  std::uint32_t stream = 0;                    // in streams()
  std::uint64_t begin_byte = 0, end_byte = 0;  // of the uncompressed object
};

class Source {
 public:
  virtual ~Source() = default;

  virtual std::uint64_t size() const = 0;
  virtual const std::vector<FieldInfo>& fields() const = 0;
  virtual std::string kind() const = 0;  // "image folder", "npy array", ...
  virtual std::string uri() const = 0;
  virtual std::string key(std::uint64_t sample) const = 0;

  // Fails with kNotFound where this sample lacks the field.
  virtual Result<Extent> extent(std::uint64_t sample, std::size_t field) const = 0;
  virtual const ArrayLayout* array_layout(std::size_t) const { return nullptr; }
  virtual IndexValue value(std::uint64_t, std::size_t) const { return {}; }

  // Chunked fields: the arrays, and the boxes that make the sample's value (of the type and shape that
  // array_layout() says).
  virtual std::span<const std::shared_ptr<const ChunkedArray>> chunked_arrays() const { return {}; }
  virtual void boxes(std::uint64_t, std::size_t, std::vector<ArrayBox>&) const {}

  // Records: opened once, then a field of it after another. `charge` is asked before memory is taken that
  // stays as long as the opened record; `room` gives memory that stays until the next call, for values that
  // do not lie in the record as they are.
  using Charge = std::function<Status(std::uint64_t bytes)>;
  virtual Result<OpenedRecord> open_record(std::uint64_t, std::span<const std::byte> stored,
                                           const Charge&) const {
    return OpenedRecord{stored, nullptr};
  }
  using Room = std::function<Result<std::span<std::byte>>(std::size_t)>;
  virtual Result<RecordValue> find_in_record(std::uint64_t sample, std::size_t field,
                                             const OpenedRecord& record, const Room& room) const;
  // Another number where find_in_record() makes something else of the same record.
  virtual std::uint64_t reading(std::size_t) const { return 0; }

  // Class names in label order; empty where there are none.
  virtual const std::vector<std::string>& classes() const;

  // Nothing where the source is no folder, or where all its files are samples.
  virtual const LeftOutFiles* left_out() const { return nullptr; }

  // Keys and sizes, not paths or times: what resuming must find again.
  virtual std::uint64_t fingerprint() const = 0;
  virtual std::uint64_t stored_bytes() const = 0;
  virtual std::uint64_t stored_bytes_of(std::uint64_t sample) const = 0;

  // For a windowed shuffle: units of unit_samples() each, unless units() tells them apart.
  virtual std::uint64_t unit_samples() const { return 1; }
  virtual std::shared_ptr<const StorageUnits> units() const { return nullptr; }
  // Compressed shards: what extents' `block` counts, and the objects.
  virtual const std::vector<StreamBlock>& blocks() const;
  virtual const std::vector<Stream>& streams() const;
  bool is_forward_only() const { return !blocks().empty(); }
  // One unit holds several samples and is read as a whole: shuffle in windows unless told otherwise.
  virtual bool shares_units() const { return is_forward_only(); }
  virtual std::uint64_t suggested_window() const { return 16; }  // units
  // Samples are not gone through but drawn; size() is then the number of those that can be.
  virtual const SampleDraws* draws() const { return nullptr; }

  // A mixture draws from its parts, which stand one after another, by weight.
  struct Mixture {
    std::vector<std::uint64_t> sizes;
    std::vector<double> weights;
  };
  virtual const Mixture* mixture() const { return nullptr; }

  // Windows over several steps that are no samples because there is a gap in time between the steps.
  virtual std::uint64_t windows_left_out() const { return 0; }

  // The index was kept from an earlier run, so a file may have changed since.
  virtual bool index_was_saved() const { return false; }
  // Forgets the kept index, so that the next opening looks at the data again.
  virtual void discard_saved_index() const {}

  virtual const Store& store() const = 0;
};

using SourcePtr = std::shared_ptr<const Source>;

struct OpenOptions {
  std::string kind;   // "", "images", "npy", "tar", "tfrecord", "manifest": detected where empty
  std::string masks;  // image folders: a folder with a mask for each image
  // Manifests: what paths are relative to and may not leave ("": the manifest's folder), and which
  // columns make which fields (none: all, under their own names).
  std::string root;
  std::vector<std::pair<std::string, std::string>> columns;
  // Between the cells of a .csv or .tsv; 0: a tab for .tsv, else a comma, or whichever of ';' and tab the
  // first rows agree on where the line of names has no comma.
  char delimiter = 0;
  // Fields (or columns) that are something else than their names suggest: "image", "mask", "npy",
  // "integer", "text", "json", "bytes", or elements as in "float32[3,224,224]". The numbers of a table are
  // float64; "float32" rounds them.
  std::map<std::string, std::string> field_kinds;
  bool verify_checksums = true;
  // What opening may take while it works, beside the index that the source keeps; 0: a quarter of what is free.
  std::uint64_t memory_bytes = 0;
  std::string cache_dir;  // where indexes are kept; "": PENSTOCK_CACHE_DIR or the user's
  bool keep_index = true;
  std::function<bool(std::uint64_t files)> progress;  // now and then, from the calling thread; false stops
  std::function<void(const std::string&)> warn;
  // Given: a shard that cannot be read through is reported here, and what could be read of it counts.
  std::function<void(const Error&)> on_bad_shard;
  // URLs: "Name: value" lines sent with each request to the server of the URL, and to no other.
  std::vector<std::string> headers;
};

// A path, glob or brace pattern. A folder of folders has a class a folder; a folder of files is
// flat; one .npy file is an array of samples; .tar and .tfrecord files are shards of one data set;
// a .csv or .jsonl file names its samples.
Result<SourcePtr> open_source(const std::string& uri, const OpenOptions& options = {});

// Several paths or patterns as one source, in the order given. Shards and files are put one after
// another; folders are opened one by one and joined, so their classes must agree. A .npy file in a list is
// one sample, also where the list names no other.
Result<SourcePtr> open_source(const std::vector<std::string>& uris, const OpenOptions& options = {});

// Images or .npy files that the caller lists, each with a label. Keys are the paths; relative ones start
// from the working folder.
struct LabelledFiles {
  std::vector<std::string> paths;
  std::vector<std::int64_t> labels;  // as many as paths
  std::vector<std::string> classes;  // names of the labels, if they have names
};
Result<SourcePtr> open_labelled_files(const LabelledFiles& files, const OpenOptions& options = {});

// The same samples with other names for some fields: {old name, new name}.
Result<SourcePtr> rename_fields(SourcePtr source, const std::map<std::string, std::string>& new_names);

// The same samples, fewer of them, in the order given.
Result<SourcePtr> subset(SourcePtr source, std::vector<std::uint64_t> indices);

struct Split {
  SourcePtr first, second;
};

// A seeded random division: round(fraction * size) samples, and the rest. Each keeps the
// source's order.
Result<Split> split(const SourcePtr& source, double fraction, std::uint64_t seed);

// The numbers below `size` in the seeded random order that split() divides.
std::vector<std::uint64_t> shuffled(std::uint64_t size, std::uint64_t seed);

// Several sources with the same fields as one. Without weights every sample of each comes once an
// epoch; with weights each part makes up that share of the samples, and small parts come round
// more often.
Result<SourcePtr> mix(std::vector<SourcePtr> parts, std::vector<double> weights);

}  // namespace penstock
