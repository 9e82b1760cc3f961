// Makes an array from its checked metadata.
#pragma once

#include <memory>
#include <string>

#include "penstock/source.h"
#include "source/chunked_array.h"
#include "source/zarr/metadata/zarr_metadata.h"

namespace penstock {

Result<ChunkedArrayPtr> make_zarr_array(std::shared_ptr<const Store> store, const std::string& uri,
                                        ZarrArrayMetadata metadata, MissingChunk missing);

}  // namespace penstock
