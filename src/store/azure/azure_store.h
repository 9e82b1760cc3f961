// A Store of blobs in the containers of an Azure account.
//
// Keys are "az://container/blob". It is an HTTP store (http_store.h) whose requests are authorised by the account's key
// or a shared access signature, and it lists, and writes. kNotFound means that the service answered BlobNotFound, or that
// no blob's name begins with that of a folder; a missing container is kInvalidArgument. Thread-safe.
#pragma once

#include <memory>

#include "store/azure/azure_options.h"
#include "store/http/http_store.h"

namespace penstock {

// No request is sent. `http` sets the retries; its other members are replaced. Fails with kUnsupported if this build has
// no libcurl or no libcrypto, and with kInvalidArgument if the URI or an option is malformed.
Result<std::shared_ptr<const Store>> make_azure_store(const std::string& uri, AzureOptions options, HttpOptions http = {});

}  // namespace penstock
