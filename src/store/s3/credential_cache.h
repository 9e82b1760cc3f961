// Keeps credentials, and fetches new ones in the background before they expire.
//
// The engine's thread asks for them at each try of each request, so current() never waits: while the first ones are
// being fetched, it fails with a retryable error. Clouds limit how often a machine may ask for credentials, so all
// stores of a process share one cache per origin (shared_credentials in find_credentials.h).
// Thread-safe. Destroying it stops a fetch, and waits for its end unless it is told not to.
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

  // A function of the user may need what the destroying thread holds (Python's lock): nobody waits for that.
  enum class End : std::uint8_t { kWaits, kDoesNotWait };
  explicit CredentialCache(Fetch fetch, End end = End::kWaits)
      : state_(std::make_shared<State>(std::move(fetch))),
        end_(end) {}
  CredentialCache(const CredentialCache&) = delete;
  ~CredentialCache();

  // Valid now. An error that is not retryable stays for ten seconds; then it is tried again.
  Result<std::shared_ptr<const S3Credentials>> current();

  // The server has refused them although they seem to be valid. Returns whether new ones may come. Refusals of
  // requests that were sent with older ones do no harm.
  bool renew();

  std::uint64_t fetches() const;

 private:
  using Time = std::chrono::steady_clock::time_point;

  // The thread of a fetch keeps it alive.
  struct State {
    explicit State(Fetch fetch_) : fetch(std::move(fetch_)) {}

    const Fetch fetch;
    Mutex mutex;
    std::shared_ptr<const S3Credentials> held PENSTOCK_GUARDED_BY(mutex);
    Time fetched_at PENSTOCK_GUARDED_BY(mutex){}, tried_at PENSTOCK_GUARDED_BY(mutex){};
    std::optional<Error> error PENSTOCK_GUARDED_BY(mutex);  // of the last fetch
    bool is_fetching PENSTOCK_GUARDED_BY(mutex) = false;
    std::uint64_t fetches PENSTOCK_GUARDED_BY(mutex) = 0;
    std::jthread thread PENSTOCK_GUARDED_BY(mutex);
  };

  static void start_fetch(const std::shared_ptr<State>& state) PENSTOCK_REQUIRES(state->mutex);
  static void run(State& state, std::stop_token stop) PENSTOCK_EXCLUDES(state.mutex);

  const std::shared_ptr<State> state_;
  const End end_;
};

}  // namespace penstock
