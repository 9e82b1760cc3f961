// Chooses the store for a path or a URL that a user names.
//
// This is the only place that knows the kinds of stores. To add one (S3, say), implement Store, add its scheme to
// make_store_for(), and add the store to tests/conformance/store_test.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/http/http_url.h"
#include "store/object_key.h"
#include "store/store.h"

namespace penstock {

// Whether the URI is a URL, so that its bytes come from another machine.
bool is_remote(std::string_view uri);

// Makes a new store on each call. Its keys are object_key(uri) and names below that: the userinfo and the query of a
// URL stay within the store, which adds them to its requests to the same server, together with `headers`
// ("Name: value"; files have no use for them). Fails with kUnsupported if no store knows the scheme, and with
// kInvalidArgument if the URL or a header is malformed.
Result<std::shared_ptr<const Store>> make_store_for(const std::string& uri,
                                                    const std::vector<std::string>& headers = {});

}  // namespace penstock
