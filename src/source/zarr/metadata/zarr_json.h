// Access to the JSON of Zarr metadata, which is not trusted: every lookup checks the type. Thread-safe.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "penstock/array.h"
#include "penstock/result.h"

namespace penstock {

using Json = nlohmann::json;

// Parses one object. Nesting is limited, and keys must be unique. NaN, Infinity and -Infinity, which Python writes
// although JSON does not have them, become the strings "NaN", "Infinity" and "-Infinity".
Result<Json> parse_zarr_json(ConstBytes text, const std::string& uri);

// nullptr: `object` is not an object or has no such member.
const Json* find_member(const Json& object, std::string_view key);

// For messages: at most about 60 characters of the value.
std::string short_text(const Json& value);

// `what` is the beginning of the error message: "chunk_shape".
Result<std::int64_t> read_whole_number(const Json& value, std::string_view what, std::int64_t least,
                                       const std::string& uri);
Result<Shape> read_extents(const Json* value, std::string_view what, std::int64_t least,
                           const std::string& uri);

// A named extension of Zarr v3: "crc32c", or {"name": "gzip", "configuration": {...}}.
struct NamedConfiguration {
  std::string name;
  Json configuration = Json::object();
};
Result<NamedConfiguration> read_named(const Json* value, std::string_view what, const std::string& uri);

inline std::unexpected<Error> bad_metadata(ErrorCode code, std::string what, const std::string& uri) {
  return fail(code, std::move(what), {uri, -1, -1, -1});
}

}  // namespace penstock
