// Where the repositories of the Hugging Face Hub are: it takes keys apart and makes URLs of them.
//
// Keys are "hf://datasets/owner/name@revision/path", "hf://spaces/..." and "hf://owner/name..." for models. Without a
// revision it is "main". A '/' in a revision is written as %2F, but "refs/convert/x" and "refs/pr/1" need not be.
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "penstock/result.h"
#include "store/http/http_url.h"

namespace penstock {

struct HubKey {
  std::string kind;        // "datasets", "spaces" or "models"
  std::string repository;  // "owner/name"
  std::string revision;
  std::string path;  // below the repository; "" for all of it

  // What the revision is asked of, without the path.
  std::string place() const { return kind + "/" + repository + "@" + revision; }
};

Result<HubKey> parse_hub_key(std::string_view key);

class HubLocation {
 public:
  // `endpoint` is an http or https URL; "" means the Hub itself.
  static Result<HubLocation> make(std::string endpoint);

  bool has(const HttpUrl& url) const { return server_.same_server(url); }
  std::string resolve_url(const HubKey& key, std::string_view commit) const;
  std::string tree_url(const HubKey& key, std::string_view commit, bool is_recursive) const;
  std::string paths_url(const HubKey& key, std::string_view commit) const;
  std::string revision_url(const HubKey& key) const;

 private:
  std::string api_url(const HubKey& key, std::string_view function, std::string_view revision) const;

  std::string endpoint_;  // without a slash at its end
  HttpUrl server_;
};

}  // namespace penstock
