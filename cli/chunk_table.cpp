#include "chunk_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "format.h"
#include "source/chunked_array.h"
#include "source/zarr/metadata_object.h"

namespace penstock::cli {
namespace {

constexpr std::uint64_t kMostLooks = 64;  // over all arrays: each is a request where they are far away
constexpr std::uint64_t kMostLooksAnArray = 8;

std::string name_in(const Json& codec, const char* key) {
  const Json* name = find_member(codec, key);
  return name != nullptr && name->is_string() ? name->get<std::string>() : std::string();
}

// "blosc lz4": what it compresses with says more than its name.
std::string with_method(std::string name, const Json* configuration) {
  const std::string method = configuration != nullptr ? name_in(*configuration, "cname") : std::string();
  return method.empty() ? name : name + " " + method;
}

std::string codecs_of_v2(const Json& zarray) {
  std::vector<std::string> names;
  if (const Json* filters = find_member(zarray, "filters"); filters != nullptr && filters->is_array())
    for (const Json& filter : *filters) names.push_back(name_in(filter, "id"));
  if (const Json* compressor = find_member(zarray, "compressor");
      compressor != nullptr && compressor->is_object())
    names.push_back(with_method(name_in(*compressor, "id"), compressor));
  return names.empty() ? "uncompressed" : fmt::format("{}", fmt::join(names, " + "));
}

std::string codecs_of_v3(const Json& zarr_json, int level = 0) {
  std::vector<std::string> names;
  const Json* codecs = find_member(zarr_json, "codecs");
  if (codecs == nullptr || !codecs->is_array()) return {};
  for (const Json& codec : *codecs) {
    const std::string name = codec.is_string() ? codec.get<std::string>() : name_in(codec, "name");
    const Json* configuration = find_member(codec, "configuration");
    if (name == "sharding_indexed" && configuration != nullptr && level < 4)
      return codecs_of_v3(*configuration, level + 1) + ", in shards";
    if (name != "bytes") names.push_back(with_method(name, configuration));
  }
  return names.empty() ? "uncompressed" : fmt::format("{}", fmt::join(names, " + "));
}

std::string codecs_of(const ChunkedArray& array) {
  for (const char* file : {"/zarr.json", "/.zarray"}) {
    const auto found = read_metadata_object(array.store(), array.uri() + file, kMostArrayMetadataBytes);
    if (!found || !*found) continue;
    return file == std::string_view("/zarr.json") ? codecs_of_v3(**found) : codecs_of_v2(**found);
  }
  return {};
}

// Bytes of the object or the part of it; nothing where there is no such chunk.
Result<std::optional<std::uint64_t>> stored_bytes_of(const ChunkedArray& array, std::uint64_t chunk) {
  const auto place = array.place(chunk);
  if (!place) return std::unexpected(place.error());
  if (place->is_missing) return std::nullopt;
  const auto version = array.store().stat(place->read.key);
  if (!version && version.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!version) return std::unexpected(version.error());
  const ByteRange& range = place->read.range;
  return range.length == ByteRange::kToTheEnd ? version->size - std::min(range.offset, version->size)
                                              : range.length;
}

StoredArray look_at(const ChunkedArray& array, std::uint64_t looks, double elements_of_samples) {
  StoredArray stored{array.spec(), array.chunk_shape(), array.chunks(), codecs_of(array)};
  looks = std::min(looks, array.chunks());
  double bytes = 0;
  for (std::uint64_t i = 0; i < looks; ++i) {
    const auto found = stored_bytes_of(array, array.chunks() / looks * i);
    if (!found) return stored;  // reading the samples will say what is wrong
    ++stored.looked_at;
    stored.missing += found->has_value() ? 0 : 1;
    bytes += static_cast<double>(found->value_or(0));
  }
  const double share =
      std::min(1.0, elements_of_samples / static_cast<double>(element_count(array.spec().shape)));
  if (looks > 0)
    stored.stored_bytes = bytes / static_cast<double>(looks) * static_cast<double>(array.chunks()) * share;
  return stored;
}

}  // namespace

std::string StoredArray::describe() const {
  std::string text =
      fmt::format("of {} {}, {} {} of {}", fmt::join(spec.shape, "x"), name_of(spec.dtype),
                  with_commas(chunks), chunks == 1 ? "chunk" : "chunks", fmt::join(chunk_shape, "x"));
  if (!codecs.empty()) text += ", " + codecs;
  if (missing > 0) text += fmt::format("; {} of {} looked for are not there", missing, looked_at);
  return text;
}

nlohmann::ordered_json StoredArray::to_json() const {
  nlohmann::ordered_json json = {
      {"shape", spec.shape}, {"dtype", name_of(spec.dtype)}, {"chunk_shape", chunk_shape}, {"chunks", chunks},
      {"codecs", nullptr},   {"looked_at", looked_at},       {"missing", missing}};
  if (!codecs.empty()) json["codecs"] = codecs;
  return json;
}

std::vector<StoredArray> look_at_arrays(const Source& source) {
  const auto arrays = source.chunked_arrays();
  std::vector<StoredArray> stored;
  if (arrays.size() != source.fields().size()) return stored;
  const std::uint64_t looks =
      std::clamp<std::uint64_t>(kMostLooks / std::max<std::size_t>(arrays.size(), 1), 1, kMostLooksAnArray);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const ArrayLayout* layout = source.array_layout(i);
    const double elements = layout == nullptr ? 0 : static_cast<double>(element_count(layout->spec.shape));
    stored.push_back(look_at(*arrays[i], looks, elements * static_cast<double>(source.size())));
  }
  return stored;
}

}  // namespace penstock::cli
