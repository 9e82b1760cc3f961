// What all shards of a packed data set have in common: the format, the fields, the classes, and what it was packed from.
//
// Every index beside a shard holds it as JSON text, and so does the manifest. Two shards belong to one data set only if
// their texts are equal, so a folder in which two data sets were mixed up is noticed. The text names no path: parts that
// are packed on several machines may see the source in different places.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "penstock/array.h"
#include "penstock/result.h"
#include "penstock/source.h"

namespace penstock {

struct PackedField {
  std::string name;  // as in the source that was packed
  FieldKind kind = FieldKind::kBytes;
  bool is_everywhere = true;
  bool is_class = false;
  bool keeps_type = false;
  bool is_time = false;  // int64 nanoseconds since 1970
  bool is_list = false;  // in a TFRecord: numbers that the record lists, in place of a .npy file
  // The name in the files without what depends on the sample: the beginning of a tar ending, the feature of a TFRecord,
  // the prefix of a .npy file.
  std::string stored_as;
  std::optional<ArraySpec> elements;  // of an array that has the same type and shape in all samples
  bool operator==(const PackedField&) const = default;
};

struct PackDescription {
  std::string format;  // "tar", "tfrecord" or "npy"
  std::uint64_t source_fingerprint = 0;
  std::uint64_t samples = 0, shards = 0;  // of all parts
  // The options that decide the bytes, as the writer wrote them. A reader has no use for them.
  std::string options;
  std::vector<PackedField> fields;
  std::vector<std::string> classes;

  nlohmann::ordered_json to_json() const;
  std::string to_text() const { return to_json().dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace); }
  // The JSON is not trusted. Errors name `uri`.
  static Result<PackDescription> from_json(const nlohmann::ordered_json& json, const std::string& uri);
  static Result<PackDescription> parse(std::string_view text, const std::string& uri);
};

// The member of a JSON object if it has this type; nullptr otherwise.
const nlohmann::ordered_json* find_text(const nlohmann::ordered_json& object, std::string_view key);
const nlohmann::ordered_json* find_count(const nlohmann::ordered_json& object, std::string_view key);  // >= 0
const nlohmann::ordered_json* find_list(const nlohmann::ordered_json& object, std::string_view key);

// Parses one JSON object that is not trusted: nesting is limited and keys must be unique.
Result<nlohmann::ordered_json> parse_pack_json(std::string_view text, const std::string& uri);

}  // namespace penstock
