// Objects on web servers, read by range over several connections at a time.
//
// Keys are URLs (http:// or https://). One thread of the store's own moves all bytes, straight from
// the connections into the memory that readers give. Whatever may pass (a broken connection, a
// stalled one, a busy server) is tried again until `retry` says to give up; the number of requests
// in flight is found by measuring (request_window.h). Errors name the URL without its password.
// Thread-safe. `done` and `room` of start_read run on the store's thread: they must not wait for
// other reads of the same store.
#pragma once

#include "store/http/retry.h"
#include "store/store.h"

namespace penstock {

struct HttpOptions {
  std::size_t max_in_flight = 64;  // the environment's PENSTOCK_HTTP_REQUESTS goes before it
  std::chrono::milliseconds connect_timeout{10'000};
  // A transfer that is silent for this long, or slower than the rate over this long, is broken off.
  std::chrono::milliseconds stall_after{10'000};
  std::uint64_t least_bytes_per_second = 16 << 10;
  // A request without an answer is sent a second time after this, or four times the usual time if
  // that is longer; the first answer counts. 0: never.
  std::chrono::milliseconds hedge_after{500};
  RetryOptions retry;
  // Redirects to another server; never into the inner network from outside of it.
  bool allow_other_hosts = true;
  // What a server must be shown. It lives in the store alone: no key, message or file holds it. It goes to
  // `server` ("https://host:443"), or where that is empty to the server that a key names, and never along
  // with a redirect to another one. A key that has userinfo or a query of its own keeps them.
  std::string server, userinfo, query;
  std::vector<std::string> headers;  // "Name: value"
};

struct HttpCounters {
  std::uint64_t requests = 0;  // sent, retries included
  std::uint64_t retries = 0;
  std::uint64_t hedges = 0;  // of the retries: sent because no answer had come yet
  std::uint64_t bytes = 0;   // of objects
  std::size_t in_flight = 0;
  std::size_t limit = 0;  // of requests in flight now
};

class HttpStore : public Store {
 public:
  virtual HttpCounters counters() const = 0;
};

// kUnsupported where this build has no libcurl.
Result<std::shared_ptr<const HttpStore>> make_http_store(HttpOptions options = {});

}  // namespace penstock
