// What a field is, by its name or by the user's word.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/source.h"

namespace penstock {

struct FieldType {
  FieldKind kind = FieldKind::kBytes;
  std::optional<ArraySpec> elements;  // raw numbers of this type and shape
};

// "image", "mask", "npy", "integer", "text", "json", "bytes", one number: "float32", or elements:
// "float32[3,224,224]".
Result<FieldType> parse_field_type(const std::string& field, const std::string& text);

// By the last part of a file's ending: "jpg", "mask.png", "cls", "json", ... Anything unknown
// (pickles included) is bytes: it is handed on, never run.
FieldKind kind_of_extension(std::string_view extension);

// Does it begin like an image that is read?
bool looks_like_image(std::span<const std::byte> bytes);

// Fails where `wanted` names a field that is not among `known`, with the nearest one.
Status check_field_names(const std::map<std::string, std::string>& wanted,
                         const std::vector<std::string>& known);

}  // namespace penstock
