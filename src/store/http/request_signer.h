// What an HTTP store asks before each try of a request, so that the request carries a credential that is
// valid now.
//
// A signature covers the request as it is sent and expires after some minutes, so it is made anew for each
// try. The signer alone knows the credential; the engine passes on what it returns and shows it to nobody.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/result.h"
#include "store/http/http_url.h"

namespace penstock {

struct HttpHeader {
  std::string name, value;
  bool operator==(const HttpHeader&) const = default;
};

// A request as it will be sent, but for what the signer adds.
struct UnsignedRequest {
  std::string_view method;                 // "GET", "PUT", ...
  const HttpUrl& url;                      // with the query in its target
  // All but those that curl adds by itself and Accept-Encoding. The range of a read and the length of a body are here.
  const std::vector<HttpHeader>& headers;
  std::string_view payload_sha256;         // in hexadecimal; "UNSIGNED-PAYLOAD": the body is not hashed
};

// Thread-safe. It must outlive the store's requests, which the shared_ptr in HttpOptions ensures.
class RequestSigner {
 public:
  virtual ~RequestSigner() = default;

  // The headers to add. It is called on the engine's thread and must not block: while a new credential is
  // being fetched, it fails with a retryable error, and the engine asks again a little later. `now` is the
  // time of the server, as far as the engine knows it.
  virtual Result<std::vector<HttpHeader>> sign(const UnsignedRequest& request,
                                               std::chrono::system_clock::time_point now) = 0;

  // The server has refused the credential because it has expired. The signer starts to fetch a new one, and
  // returns whether it can.
  virtual bool renew() = 0;

  // Whether the credential is also meant for this server, to which a redirect has led. It is asked instead of the
  // engine's own rule, by which nothing follows a request to another server.
  virtual bool may_sign_for(const HttpUrl&) const { return false; }
};

}  // namespace penstock
