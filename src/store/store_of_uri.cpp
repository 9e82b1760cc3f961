#include "store/store_of_uri.h"

#include <fmt/format.h>

#include "base/lower_case.h"
#include "store/file_store.h"
#include "store/http_store.h"
#include "store/http_url.h"

namespace penstock {

Result<std::shared_ptr<const Store>> make_store_for(const std::string& uri) {
  const std::size_t end = uri.find("://");
  // "a/b://c" is a path; a scheme stands before any slash.
  if (end == std::string::npos || end == 0 || uri.find('/') < end) return std::make_shared<FileStore>();
  const std::string scheme = lower_case(uri.substr(0, end));
  if (scheme == "http" || scheme == "https") {
    auto store = make_http_store();
    if (!store) return std::unexpected(std::move(store).error());
    return *store;
  }
  const char* advice = scheme == "file" ? "; give the path without it" : "";
  return fail(ErrorCode::kUnsupported, fmt::format("{}:// is nothing this build reads{}", scheme, advice),
              {without_userinfo(uri), -1, -1, -1});
}

}  // namespace penstock
