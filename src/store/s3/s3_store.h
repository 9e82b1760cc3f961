// A Store of objects in buckets: Amazon S3, servers that speak like it (Ceph, MinIO), and Google Cloud Storage.
//
// Keys are "s3://bucket/key" and "gs://bucket/key". It is an HTTP store (http_store.h) whose requests are signed and
// whose errors have codes, and it lists, and writes. kNotFound means that the server answered NoSuchKey, or that no
// key begins with the name of a folder; a missing bucket is kInvalidArgument.
// Thread-safe.
#pragma once

#include <memory>

#include "store/http/http_store.h"
#include "store/s3/s3_options.h"

namespace penstock {

// The store for a URI, whose bucket need not be the only one. `http` sets the retries; its other members are replaced.
// Fails with kUnsupported if this build has no libcurl or no libcrypto, and with kInvalidArgument if the URI or an
// option is malformed. No request is sent.
Result<std::shared_ptr<const Store>> make_s3_store(const std::string& uri, S3Options options = {},
                                                   HttpOptions http = {});

}  // namespace penstock
