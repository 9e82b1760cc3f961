// Writes one blob: at once where it is small, and else in blocks, which a last request joins.
#pragma once

#include <memory>

#include "store/azure/azure_location.h"
#include "store/http/http_store.h"
#include "store/object_writer.h"

namespace penstock {

Result<std::unique_ptr<ObjectWriter>> make_azure_writer(std::string key, std::shared_ptr<const HttpStore> http,
                                                        AzureLocation location);

}  // namespace penstock
