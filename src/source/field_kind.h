// The kind of a field, which follows from its name or is given by the user. Thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/source.h"

namespace penstock {

struct FieldType {
  FieldKind kind = FieldKind::kBytes;
  std::optional<ArraySpec> elements;  // for raw numbers: their type and shape
};

// Parses the name of a kind ("image", "mask", "npy", "integer", "text", "json", "bytes"), the type of a single number
// ("float32"), or the type and shape of elements ("float32[3,224,224]").
Result<FieldType> parse_field_type(const std::string& field, const std::string& text);

// The kind of a file by its ending: "jpg", "mask.png", "cls", "json", ... Unknown endings, including those of pickles,
// are bytes, which are delivered and never executed.
FieldKind kind_of_extension(std::string_view extension);

// Whether the bytes begin like an image of a supported format.
bool looks_like_image(std::span<const std::byte> bytes);

// Fails if `wanted` names a field that is not in `known`; the error suggests the nearest name.
Status check_field_names(const std::map<std::string, std::string>& wanted,
                         const std::vector<std::string>& known);

}  // namespace penstock
