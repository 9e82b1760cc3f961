// Codecs of the numcodecs library, which version 2 is written with and version 3 knows by "numcodecs.<id>".
#pragma once

#include <optional>
#include <string_view>

#include "decode/codec/codec_chain.h"
#include "source/zarr/metadata/zarr_json.h"

namespace penstock {

// `id` with its configuration, where elements are of type `before` so far. Nothing where decoding does
// nothing. An unknown id is an error that names it.
Result<std::optional<Codec>> read_numcodec(std::string_view id, const Json& configuration,
                                           const StoredType& before, const std::string& uri);

// Codecs from elements to elements know their types.
bool is_element_codec(const Codec& codec);
StoredType* encoded_type(Codec& codec);  // null for all others

}  // namespace penstock
