// A Source says what the samples of a data set are: how many there are, which fields each of them has, and where the
// bytes of a field are stored. A Loader decides which sample comes when, and reads it.
//
// Sources are made by the open_ functions below and in arrays.h. A source is immutable: any number of threads and
// loaders may use one at the same time, and each of them shares its ownership. Opening reads directories, indexes and
// headers, never all data; it fails with an Error that names the file.
//
//   auto train = penstock::open_source("shards/train-{000..146}.tar");
//   if (!train) return report(train.error());
//   auto parts = penstock::split(*train, 0.9, /*seed=*/1);
#pragma once

#include <cstdint>
#include <functional>
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
  bool keeps_type = false;    // a coordinate or a label: the loader's dtype, which is meant for data, does not change it
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
  std::string kind;   // "images", "npy", "tar", "tfrecord", "manifest" or "zarr"; "": it is detected
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

}  // namespace penstock
