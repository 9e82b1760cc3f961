// What the samples are: how many, which fields, and where the bytes of each stand.
//
// A source is opened once, is immutable afterwards and may be shared by loaders and threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/array.h"
#include "penstock/result.h"

namespace penstock {

class Store;

enum class FieldKind : std::uint8_t {
  kImage,    // encoded picture
  kMask,     // encoded picture whose values are classes: never interpolated
  kArray,    // numbers of a known type and shape
  kInteger,  // a label
  kText,     // a key or caption
};

std::string_view name_of(FieldKind kind);  // "image", "mask", ...

struct FieldInfo {
  std::string name;
  FieldKind kind;
};

// Bytes of one field of one sample.
struct Extent {
  std::string object;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::int64_t modified_ns = 0;  // of the object when it was indexed
  std::uint64_t object_bytes = 0;
  bool shared_object = false;  // other samples live in it too: worth keeping open
};

// How the arrays of a field are stored, where all samples agree.
struct ArrayLayout {
  ArraySpec spec;
  bool fortran_order = false;
  bool swap_bytes = false;
  std::vector<std::byte> header;  // bytes before the data of each sample; empty: none
};

class Source {
 public:
  virtual ~Source() = default;

  virtual std::uint64_t size() const = 0;
  virtual const std::vector<FieldInfo>& fields() const = 0;
  virtual std::string kind() const = 0;  // "image folder", "npy array", ...
  virtual std::string uri() const = 0;
  virtual std::string key(std::uint64_t sample) const = 0;

  // Encoded fields and arrays.
  virtual Extent extent(std::uint64_t sample, std::size_t field) const = 0;
  virtual const ArrayLayout* array_layout(std::size_t) const { return nullptr; }
  // Integer fields.
  virtual std::int64_t integer(std::uint64_t, std::size_t) const { return 0; }

  // Class names in label order; empty where there are none.
  virtual const std::vector<std::string>& classes() const;

  // Keys and sizes, not paths or times: what resuming must find again.
  virtual std::uint64_t fingerprint() const = 0;
  virtual std::uint64_t stored_bytes() const = 0;
  // Samples that are stored together, for a windowed shuffle.
  virtual std::uint64_t unit_samples() const { return 1; }
  // The index was kept from an earlier run, so a file may have changed since.
  virtual bool index_was_kept() const { return false; }
  // Forgets the kept index, so that the next opening looks at the data again.
  virtual void forget_kept_index() const {}

  virtual const Store& store() const = 0;
};

using SourcePtr = std::shared_ptr<const Source>;

struct OpenOptions {
  std::string kind;       // "", "images", "npy": detected where empty
  std::string masks;      // image folders: a folder with a mask for each image
  std::string cache_dir;  // where indexes are kept; "": PENSTOCK_CACHE_DIR or the user's
  bool keep_index = true;
  std::function<bool(std::uint64_t files)> progress;  // now and then, from the calling thread; false stops
  std::function<void(const std::string&)> warn;
};

// A path, glob or brace pattern. A folder of folders has a class a folder; a folder of files is
// flat; one .npy file is an array of samples.
Result<SourcePtr> open_source(const std::string& uri, const OpenOptions& options = {});

// The same samples, fewer of them, in the order given.
Result<SourcePtr> subset(SourcePtr source, std::vector<std::uint64_t> indices);

struct Split {
  SourcePtr first, second;
};

// A seeded random division: round(fraction * size) samples, and the rest. Each keeps the
// source's order.
Result<Split> split(const SourcePtr& source, double fraction, std::uint64_t seed);

}  // namespace penstock
