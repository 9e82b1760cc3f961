// A request of a service's interface (a listing, an upload, a login) and its answer, as opposed to a read of an object.
//
// Bodies are sent from memory and answers are collected in memory, both of bounded size, so that a request can be
// sent again whenever it fails. Values; thread-compatible.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "store/http/request_signer.h"

namespace penstock {

struct HttpExchange {
  std::string key;              // names the request in messages, without secrets
  std::string url;              // with its query; the userinfo and the query of HttpOptions are not added
  std::string method = "GET";   // or "HEAD", "PUT", "POST", "DELETE"
  std::vector<HttpHeader> headers;
  ConstBytes body;              // of PUT and POST; borrowed until the exchange is done
  std::string payload_sha256 = "UNSIGNED-PAYLOAD";  // as the signer gets it
  std::uint64_t max_answer_bytes = 1 << 20;         // a longer answer fails with kTooLarge
  // How long the answer may take once the body is sent. 0: three times HttpOptions::stall_after.
  std::chrono::milliseconds patience{0};
};

struct HttpAnswer {
  int status = 0;                   // 200 to 299; all others are errors
  std::vector<HttpHeader> headers;  // names in lower case
  std::string body;

  std::string_view header(std::string_view name) const {
    for (const HttpHeader& one : headers)
      if (one.name == name) return one.value;
    return {};
  }
};

}  // namespace penstock
