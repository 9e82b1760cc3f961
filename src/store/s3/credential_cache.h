// Keeps credentials, and fetches new ones in the background before they expire.
//
// The engine's thread asks for them at each try of each request, so current() never waits: while the first ones are
// being fetched, it fails with a retryable error. Clouds limit how often a machine may ask for credentials, so all
// stores of a process share one cache per origin (shared_credentials in find_credentials.h).
// Thread-safe. Destroying it stops a fetch and waits for its end.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <thread>

#include "base/guarded.h"
#include "penstock/result.h"
#include "store/s3/s3_credentials.h"

namespace penstock {

class CredentialCache {
 public:
  // Runs on a thread of its own and may block until `stop` is requested. It asks wherever credentials may be found.
  using Fetch = std::function<Result<S3Credentials>(std::stop_token stop)>;

  explicit CredentialCache(Fetch fetch) : fetch_(std::move(fetch)) {}
  CredentialCache(const CredentialCache&) = delete;
  ~CredentialCache();

  // Valid now. An error that is not retryable stays for ten seconds; then it is tried again.
  Result<std::shared_ptr<const S3Credentials>> current() PENSTOCK_EXCLUDES(mutex_);

  // The server has refused them although they seem to be valid. Returns whether new ones may come. Refusals of
  // requests that were sent with older ones do no harm.
  bool renew() PENSTOCK_EXCLUDES(mutex_);

  std::uint64_t fetches() const PENSTOCK_EXCLUDES(mutex_);

 private:
  using Time = std::chrono::steady_clock::time_point;

  void start_fetch() PENSTOCK_REQUIRES(mutex_);
  void run(std::stop_token stop) PENSTOCK_EXCLUDES(mutex_);

  const Fetch fetch_;
  mutable Mutex mutex_;
  std::shared_ptr<const S3Credentials> held_ PENSTOCK_GUARDED_BY(mutex_);
  Time fetched_at_ PENSTOCK_GUARDED_BY(mutex_){}, tried_at_ PENSTOCK_GUARDED_BY(mutex_){};
  std::optional<Error> error_ PENSTOCK_GUARDED_BY(mutex_);  // of the last fetch
  bool is_fetching_ PENSTOCK_GUARDED_BY(mutex_) = false, is_closing_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::uint64_t fetches_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::jthread thread_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock
