// The loader that Loader::open() returns.
#pragma once

#include <memory>

#include "penstock/loader.h"
#include "pipeline/loader_parts.h"

namespace penstock {

std::unique_ptr<Loader> make_pipeline_loader(SourcePtr source, LoaderParts parts);

}  // namespace penstock
