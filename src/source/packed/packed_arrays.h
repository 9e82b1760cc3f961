// A data set that was packed into .npy files: one file per field and shard, whose rows are the samples.
#pragma once

#include <memory>
#include <string>

#include "decode/npy.h"
#include "penstock/source.h"
#include "source/packed/pack_manifest.h"
#include "source/packed/portable_index.h"
#include "store/store.h"

namespace penstock {

Result<SourcePtr> open_packed_arrays(std::shared_ptr<const Store> store, const std::string& uri, const std::string& folder,
                                     const PackManifest& manifest, const OpenOptions& options);

// Fails unless the members of the index are the rows of such an array. Errors name `uri`.
Status check_rows(const PortableIndex& index, const NpyHeader& header, const std::string& uri);

}  // namespace penstock
