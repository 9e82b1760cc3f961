// In builds without libcurl or libcrypto, in place of the other files of this folder.
#include "store/azure/azure_store.h"

namespace penstock {

Result<AzureOptions> find_azure_options() { return AzureOptions(); }

Result<std::shared_ptr<const Store>> make_azure_store(const std::string& uri, AzureOptions, HttpOptions) {
  return fail(ErrorCode::kUnsupported, "this build reads no blobs of Azure", {uri, -1, -1, -1});
}

}  // namespace penstock
