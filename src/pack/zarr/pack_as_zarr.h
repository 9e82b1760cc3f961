// Packs with the options that all formats have in common.
#pragma once

#include "penstock/pack.h"

namespace penstock {

Result<PackReport> pack_as_zarr(const SourcePtr& source, const std::string& destination, const PackOptions& options);

// For a destination of which is_zarr_pack() (zarr_pack.h) is true.
Result<PackReport> finish_as_zarr(const std::string& destination, const std::vector<std::string>& headers);

}  // namespace penstock
