#include "chunk_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "format.h"
#include "source/array_box.h"
#include "source/chunked_array.h"
#include "source/source_storage.h"
#include "source/zarr/metadata/metadata_object.h"

namespace penstock::cli {
namespace {

constexpr std::uint64_t kMaxLooks = 64;  // chunks over all arrays; on a remote store each costs a request
constexpr std::uint64_t kMaxLooksPerArray = 8;
constexpr std::uint64_t kMinSamples = 512, kMaxSamples = 16'384;  // samples whose boxes are counted

std::string name_in(const Json& codec, const char* key) {
  const Json* name = find_member(codec, key);
  return name != nullptr && name->is_string() ? name->get<std::string>() : std::string();
}

// Adds the compressor to the name of the codec ("blosc lz4"), because it says more than the name.
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
  if (std::string known = array.compression(); !known.empty()) return known;
  for (const char* file : {"/zarr.json", "/.zarray"}) {
    const auto found = read_metadata_object(array.store(), array.uri() + file, kMaxArrayMetadataBytes);
    if (!found || !*found) continue;
    return file == std::string_view("/zarr.json") ? codecs_of_v3(**found) : codecs_of_v2(**found);
  }
  return {};
}

// The stored size of a chunk; nothing if the store does not have the chunk.
Result<std::optional<std::uint64_t>> stored_bytes_of(const ChunkedArray& array, std::uint64_t chunk) {
  const auto place = array.location(chunk);
  if (!place) return std::unexpected(place.error());
  if (place->is_missing) return std::nullopt;
  const auto version = array.store().stat(place->read.key);
  if (!version && version.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!version) return std::unexpected(version.error());
  const ByteRange& range = place->read.range;
  return range.length == ByteRange::kToTheEnd ? version->size - std::min(range.offset, version->size)
                                              : range.length;
}

// The stored size of a few chunks of an array.
struct Look {
  std::uint64_t chunks = 0, missing = 0, bytes = 0;

  double bytes_of(std::uint64_t all_chunks) const {
    return static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(chunks, 1)) *
           static_cast<double>(all_chunks);
  }
};

// Returns nothing if a chunk cannot be found; reading the samples will report the error.
std::optional<Look> look_at(const ChunkedArray& array, std::uint64_t chunks) {
  Look look{std::min(chunks, array.chunks())};
  for (std::uint64_t i = 0; i < look.chunks; ++i) {
    const auto found = stored_bytes_of(array, array.chunks() / look.chunks * i);
    if (!found) return std::nullopt;
    look.missing += found->has_value() ? 0 : 1;
    look.bytes += found->value_or(0);
  }
  return look;
}

// The arrays that each field is made of, and the share of each array that all samples use together.
struct Uses {
  std::vector<std::set<std::size_t>> arrays_of_field;
  std::vector<double> share;  // of each array
};

Uses uses_of(const Source& source) {
  const auto& arrays = source.storage().arrays;
  Uses uses{std::vector<std::set<std::size_t>>(source.fields().size()), std::vector<double>(arrays.size())};
  const std::uint64_t wanted = std::clamp<std::uint64_t>(8 * arrays.size(), kMinSamples, kMaxSamples);
  const std::uint64_t samples = std::min(source.size(), wanted);
  std::vector<ArrayBox> boxes;
  for (std::uint64_t i = 0; i < samples; ++i)
    for (std::size_t field = 0; field < source.fields().size(); ++field) {
      if (source.fields()[field].form != FieldForm::kChunks) continue;
      boxes.clear();
      source.boxes(source.size() * i / samples, field, boxes);
      for (const ArrayBox& box : boxes) {
        uses.arrays_of_field[field].insert(box.array);
        const auto rank = static_cast<std::ptrdiff_t>(arrays[box.array]->spec().shape.size());
        const Shape count(box.count.begin(), box.count.begin() + rank);
        uses.share[box.array] += static_cast<double>(element_count(count));
      }
    }
  // Windows overlap, and some fields are the same in all samples, so the sum can exceed what is stored.
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    const double elements = static_cast<double>(element_count(arrays[a]->spec().shape));
    const double of_all = static_cast<double>(source.size()) / static_cast<double>(std::max<std::uint64_t>(samples, 1));
    uses.share[a] = elements > 0 ? std::min(1.0, uses.share[a] * of_all / elements) : 0;
  }
  return uses;
}

}  // namespace

std::string StoredArray::describe() const {
  std::string text =
      fmt::format("of {} {}, {} {} of {}", fmt::join(spec.shape, "x"), name_of(spec.dtype),
                  with_commas(chunks), chunks == 1 ? "chunk" : "chunks", fmt::join(chunk_shape, "x"));
  if (!codecs.empty()) text += ", " + codecs;
  if (arrays > 1) text += fmt::format("; the first of {} arrays", with_commas(arrays));
  if (missing > 0) text += fmt::format("; {} of {} looked for are not there", missing, looked_at);
  return text;
}

nlohmann::ordered_json StoredArray::to_json() const {
  nlohmann::ordered_json json = {
      {"shape", spec.shape}, {"dtype", name_of(spec.dtype)}, {"chunk_shape", chunk_shape}, {"chunks", chunks},
      {"codecs", nullptr},   {"looked_at", looked_at},       {"missing", missing},         {"arrays", arrays}};
  if (!codecs.empty()) json["codecs"] = codecs;
  return json;
}

std::optional<StoredArrays> look_at_arrays(const Source& source) {
  const auto& arrays = source.storage().arrays;
  if (arrays.empty()) return std::nullopt;
  const Uses uses = uses_of(source);
  StoredArrays stored;
  // If there are many arrays, evenly spaced ones represent all of them.
  const std::size_t every = (arrays.size() + kMaxLooks - 1) / kMaxLooks;
  const std::uint64_t chunks =
      std::clamp<std::uint64_t>(kMaxLooks / arrays.size(), 1, kMaxLooksPerArray);
  std::map<std::size_t, Look> looks;
  double stored_bytes = 0, decoded_bytes = 0, decoded_bytes_of_all = 0;
  bool is_known = true;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    const double decoded = static_cast<double>(arrays[a]->spec().bytes()) * uses.share[a];
    decoded_bytes_of_all += decoded;
    if (a % every != 0) continue;
    const auto look = look_at(*arrays[a], chunks);
    is_known = is_known && look;
    if (!look) continue;
    looks[a] = *look;
    decoded_bytes += decoded;
    stored_bytes += look->bytes_of(arrays[a]->chunks()) * uses.share[a];
  }
  if (is_known && decoded_bytes > 0) stored.stored_bytes = stored_bytes * (decoded_bytes_of_all / decoded_bytes);
  for (const std::set<std::size_t>& own : uses.arrays_of_field) {
    auto& field = stored.of_fields.emplace_back();
    if (own.empty()) continue;
    const ChunkedArray& first = *arrays[*own.begin()];
    const Look& look = looks[*own.begin()];
    field = StoredArray{first.spec(), first.chunk_shape(), first.chunks(), codecs_of(first),
                        look.chunks,  look.missing,        own.size()};
  }
  return stored;
}

}  // namespace penstock::cli
