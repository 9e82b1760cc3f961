// Signs requests by the key of an Azure account ("Shared Key"). Immutable; thread-safe.
#pragma once

#include "store/azure/azure_location.h"
#include "store/http/request_signer.h"

namespace penstock {

// What is signed for a request with these headers, which include x-ms-date and x-ms-version.
std::string azure_text_to_sign(std::string_view method, const HttpUrl& url, const std::vector<HttpHeader>& headers,
                               std::string_view account);

class AzureSigner final : public RequestSigner {
 public:
  // `key` is in base64; "": requests are not signed. Fails with kInvalidArgument for a malformed key.
  static Result<std::shared_ptr<AzureSigner>> make(AzureLocation location, std::string_view key);

  Result<std::vector<HttpHeader>> sign(const UnsignedRequest& request,
                                       std::chrono::system_clock::time_point now) override;
  bool renew() override { return false; }

 private:
  AzureSigner(AzureLocation location, std::string key) : location_(std::move(location)), key_(std::move(key)) {}

  const AzureLocation location_;
  const std::string key_;  // its bytes
};

}  // namespace penstock
