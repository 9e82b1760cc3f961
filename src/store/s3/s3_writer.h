// Writes one object of S3: by one request if it is small, in parts otherwise.
//
// A part is sent while the next ones are written. Parts have 8 MiB and double every thousand parts, so that the 10,000
// that S3 allows suffice for the largest object. The memory is at most 40 MiB below 16 GiB, and two parts above.
// The object appears when the upload is completed; an upload that is abandoned is removed from the server. One that a
// killed process leaves behind is invisible, and is removed by the bucket's lifecycle rules.
#pragma once

#include <memory>

#include "store/http/http_store.h"
#include "store/object_writer.h"
#include "store/s3/s3_location.h"

namespace penstock {

Result<std::unique_ptr<ObjectWriter>> make_s3_writer(std::string key, std::shared_ptr<const HttpStore> http,
                                                     std::shared_ptr<const S3Location> location);

}  // namespace penstock
