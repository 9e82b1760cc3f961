// Names of the members of a packed tar: "<escaped key>.<ending>" (docs/formats.md, "Packed data sets"). Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/source.h"

namespace penstock {

// The keys of one shard's samples as tar names without endings: safe to extract, without dots in the last part, and all
// different. The ending of an image file is left out where the names stay different ("cats/1.jpg" becomes "cats/1");
// everything else that a name may not hold is written as %XX.
std::vector<std::string> tar_names_of(const std::vector<std::string>& keys);

// The beginnings of the endings of all fields, in their order. An image adds the ending of its own format ("" becomes
// "jpg"); the others are complete. `is_class` etc. are those of the source.
std::vector<std::string> tar_endings_of(const std::vector<FieldInfo>& fields);

// The ending of one image, whose format has these endings; `begin` is from tar_endings_of().
std::string image_ending(const std::string& begin, FieldKind kind, std::string_view field,
                         const std::vector<std::string_view>& of_format);

}  // namespace penstock
