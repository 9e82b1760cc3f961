// Where the containers of an account are: it takes keys apart and makes URLs of them.
//
// Keys are "az://container/blob", where the name of the blob is text as it is. Immutable; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "store/azure/azure_options.h"
#include "store/http/http_url.h"

namespace penstock {

struct AzureKey {
  std::string container, blob;  // the name of the blob is empty for the container itself
};
Result<AzureKey> parse_azure_key(std::string_view key);

class AzureLocation {
 public:
  static Result<AzureLocation> make(const AzureOptions& options);

  // Returns the URL of a blob, or of the container if the name is empty. `query` is encoded already; the shared access
  // signature is added, so the URL may be secret.
  Result<HttpUrl> url_of(const AzureKey& key, std::string_view query = {}) const;
  bool has(const HttpUrl& url) const { return server_.same_server(url); }
  const std::string& account() const { return account_; }

 private:
  HttpUrl server_;
  std::string base_path_;  // of the emulator: "/account"
  std::string account_, sas_token_;
};

}  // namespace penstock
