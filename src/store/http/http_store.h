// A Store of objects on web servers, which are read by range over several connections at a time.
//
// Keys are URLs (http:// or https://). One thread of the store moves all bytes, straight from the connections into the
// memory that readers provide. Temporary failures (a broken connection, a stalled one, a busy server) are tried again
// until `retry` says to give up. The number of requests in flight is found by measuring (request_window.h). The
// store can neither list nor write.
//
// Failures name the URL without its password. kNotFound is a 404 or 410 answer; kChanged means that the object is no
// longer the version that was opened.
//
// Thread-safe. `done` and `allocate` of start_read() run on the store's thread and must not wait for other reads of
// the same store. Destroying the store ends all of its reads with kStopped.
//
//   auto store = make_http_store({.max_in_flight = 16});
//   if (!store) return report(store.error());
//   auto bytes = read_all(**store, "https://example.org/a.bin", 1 << 20);
#pragma once

#include <functional>
#include <memory>

#include "store/http/answer_judge.h"
#include "store/http/http_exchange.h"
#include "store/http/request_signer.h"
#include "store/http/retry.h"
#include "store/store.h"

namespace penstock {

struct HttpOptions {
  // The most requests in flight. The environment variable PENSTOCK_HTTP_REQUESTS overrides it.
  std::size_t max_in_flight = 64;
  std::chrono::milliseconds connect_timeout{10'000};
  // A transfer that is silent for this long, or slower than the rate for this long, is cancelled.
  std::chrono::milliseconds stall_after{10'000};
  std::uint64_t least_bytes_per_second = 16 << 10;
  // A request without an answer is sent a second time after this time, or after four times the usual time if that is
  // longer. The first answer counts. 0: never.
  std::chrono::milliseconds hedge_after{500};
  RetryOptions retry;
  // Follow redirects to other servers. A redirect from outside into the inner network is never followed.
  bool allow_other_hosts = true;
  // Secrets. They live in the store alone: no key, message or file holds them. They are sent to `server`
  // ("https://host:443"), or to the server of the key if that is empty, and never to another server after a redirect.
  // A key with a userinfo or a query of its own keeps it.
  std::string server, userinfo, query;
  std::vector<std::string> headers;  // "Name: value"

  // For stores that speak HTTP and more (S3, say), which are made of this one. All of them may be empty.
  // The URL of a key; empty: keys are URLs. Called by the reader's thread.
  std::function<Result<HttpUrl>(const std::string& key)> url_of_key = {};
  std::shared_ptr<RequestSigner> signer = {};
  std::shared_ptr<AnswerJudge> judge = {};
  // Requests go where clouds hand out credentials, and never through a proxy. Not for reads of data.
  bool reads_credentials = false;
};

struct HttpCounters {
  std::uint64_t requests = 0;  // that were sent, including retries
  std::uint64_t retries = 0;
  std::uint64_t hedges = 0;  // retries that were sent because no answer had come yet
  std::uint64_t bytes = 0;   // of objects
  std::size_t in_flight = 0;
  std::size_t limit = 0;  // on requests in flight, now
};

class HttpStore : public Store {
 public:
  virtual HttpCounters counters() const = 0;

  // Sends a request of the service's interface, with the retries, deadlines and signatures of reads, and waits for the
  // answer. GET and HEAD may be sent twice at the same time; any request may be sent again when its answer was lost.
  virtual Result<HttpAnswer> exchange(const HttpExchange& exchange) const = 0;

  // The same without waiting. `done` is called once, on the store's thread, and must not block.
  using ExchangeDone = std::function<void(Result<HttpAnswer>)>;
  virtual void start_exchange(HttpExchange exchange, std::stop_token stop, ExchangeDone done) const = 0;
};

// Fails with kUnsupported if this build has no libcurl.
Result<std::shared_ptr<const HttpStore>> make_http_store(HttpOptions options = {});

}  // namespace penstock
