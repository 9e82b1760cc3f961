// Codecs of the numcodecs library, which version 2 uses and version 3 names "numcodecs.<id>".
#pragma once

#include <optional>
#include <string_view>

#include "decode/codec/codec_chain.h"
#include "source/zarr/metadata/zarr_json.h"

namespace penstock {

// Parses codec `id` with its configuration; `before` is the type of its elements. nullopt: decoding needs no step.
// An unknown id is an error that names it.
Result<std::optional<Codec>> read_numcodec(std::string_view id, const Json& configuration,
                                           const StoredType& before, const std::string& uri);

// Codecs that map elements to elements know both types.
bool is_element_codec(const Codec& codec);
StoredType* encoded_type(Codec& codec);  // nullptr for all other codecs

}  // namespace penstock
