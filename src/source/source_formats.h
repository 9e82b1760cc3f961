// The formats that open_source() reads. A new format is one new file with an open function and one row of the table;
// detection, kind=, error messages and the command line read the table.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/source.h"
#include "store/store.h"

namespace penstock {

// A request to open a data set. The first six members are always set.
struct OpenRequest {
  std::shared_ptr<const Store> store;
  std::string given;               // as the user gave it, including passwords and signatures
  std::string uri;                 // the same for messages, without them
  std::string identity;            // names the data set in the folder of saved indexes
  std::vector<std::string> paths;  // keys: files as the user wrote them, patterns expanded; not empty
  bool is_alone = false;           // the user named this one object, not a list or a pattern
  // The description of a packed data set, as text; empty for other data. A shard without an index beside it, or with the
  // index of another data set, is then an error.
  std::string description = {};
};

struct SourceFormat {
  std::string_view name;         // the word for kind=: "tar"
  std::string_view description;  // for messages: ".tar shards"
  enum class Unit : std::uint8_t {
    kShard,   // any number of objects are one data set
    kSample,  // any number of files are one data set, and each of them is one sample
    kObject,  // one object is a data set
    kFolder,  // one folder is a data set
  } unit;
  bool needs_listing;  // only a store that can list holds such data sets
  // Whether an object has this format by its name, which is in lower case and without folders. nullptr: names do not tell.
  bool (*has_name)(std::string_view name);
  // Whether a folder is a data set of this format. nullptr: it never is.
  Result<bool> (*is_folder)(const Store& store, const std::string& path);
  Result<SourcePtr> (*open)(OpenRequest request, const OpenOptions& options);
};

// All formats, in the order in which names and folders are compared.
std::span<const SourceFormat> source_formats();

// The format with this name; nullptr where there is none.
const SourceFormat* source_format_named(std::string_view name);
// The format of the object by its name; nullptr where no format claims it.
const SourceFormat* source_format_of(const std::string& path);
// The format of which the folder is a data set; nullptr where no format claims it. Fails where the folder cannot be read.
Result<const SourceFormat*> source_format_of_folder(const Store& store, const std::string& path);

// The words for kind=: "images", "npy", ...
std::vector<std::string> source_format_names();
// "image files and folders of images, .npy files, ...": those of a store that can list, or that cannot.
std::string describe_source_formats(bool can_list);

}  // namespace penstock
