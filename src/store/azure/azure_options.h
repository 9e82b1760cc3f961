// What a store of Azure blobs needs to know: the account and how its requests are authorised.
#pragma once

#include <string>
#include <vector>

#include "penstock/result.h"

namespace penstock {

struct AzureOptions {
  std::string account;
  std::string endpoint;  // "https://account.blob.core.windows.net"; "": that of the account
  // One of them, or none for public containers. The key is in base64, as Azure shows it.
  std::string account_key, sas_token;
  std::vector<std::string> headers;
};

// From AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN and
// AZURE_STORAGE_ENDPOINT. The last four override what a connection string says. Fails with kInvalidArgument for a
// malformed connection string; no message has a secret.
Result<AzureOptions> find_azure_options();

// "DefaultEndpointsProtocol=https;AccountName=...;AccountKey=...;EndpointSuffix=core.windows.net", or
// "UseDevelopmentStorage=true" for the emulator.
Result<AzureOptions> parse_azure_connection(std::string_view text);

}  // namespace penstock
