// In builds without libcurl or libcrypto, in place of the other files of this folder.
#include "store/s3/s3_store.h"

namespace penstock {

Result<std::shared_ptr<const Store>> make_s3_store(const std::string& uri, S3Options, HttpOptions) {
  return fail(ErrorCode::kUnsupported, "this build reads no S3", {uri, -1, -1, -1});
}

}  // namespace penstock
