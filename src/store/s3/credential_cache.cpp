#include "store/s3/credential_cache.h"

#include <algorithm>

namespace penstock {
namespace {

using std::chrono::seconds;

constexpr seconds kErrorStays{10};       // so that a thousand requests do not ask a thousand times
constexpr seconds kRetryPause{1};
constexpr seconds kYoung{10};            // refusals this soon belong to requests with the credentials before
constexpr seconds kAheadAtMost{600}, kLastMoment{10};

Error is_fetching_error() { return {ErrorCode::kIo, "the credentials are still being fetched", {}, true}; }

}  // namespace

CredentialCache::~CredentialCache() {
  std::jthread thread;
  {
    const MutexLock lock(state_->mutex);
    thread = std::move(state_->thread);
  }
  thread.request_stop();
  if (end_ == End::kDoesNotWait && thread.joinable()) thread.detach();
}  // otherwise it is joined here, without the lock

Result<std::shared_ptr<const S3Credentials>> CredentialCache::current() {
  const std::shared_ptr<State>& state = state_;
  const MutexLock lock(state->mutex);
  const Time now = std::chrono::steady_clock::now();
  if (state->held != nullptr) {
    if (!state->held->expires) return state->held;
    const auto left = *state->held->expires - std::chrono::system_clock::now();
    // A quarter of the life before its end, so that a short life is not all refreshing.
    const auto life = left + (now - state->fetched_at);
    const auto ahead = std::min<std::chrono::nanoseconds>(kAheadAtMost, life / 4);
    if (left < ahead && !state->is_fetching && now - state->tried_at > kRetryPause) start_fetch(state);
    if (left > std::min<std::chrono::nanoseconds>(kLastMoment, life / 8)) return state->held;
    if (left > seconds(0) && state->is_fetching) return state->held;
  }
  if (state->is_fetching) return std::unexpected(is_fetching_error());
  if (state->error && now - state->tried_at < (state->error->retryable ? kRetryPause : kErrorStays))
    return std::unexpected(*state->error);
  start_fetch(state);
  return std::unexpected(is_fetching_error());
}

bool CredentialCache::renew() {
  const std::shared_ptr<State>& state = state_;
  const MutexLock lock(state->mutex);
  if (state->held == nullptr) return true;
  // Where new ones are on their way already, requests wait for them, however young these are.
  if (!state->is_fetching && std::chrono::steady_clock::now() - state->fetched_at < kYoung) return true;
  state->held = nullptr;
  if (!state->is_fetching) start_fetch(state);
  return true;
}

std::uint64_t CredentialCache::fetches() const {
  const MutexLock lock(state_->mutex);
  return state_->fetches;
}

void CredentialCache::start_fetch(const std::shared_ptr<State>& state) {
  state->is_fetching = true;
  state->tried_at = std::chrono::steady_clock::now();
  ++state->fetches;
  // The thread before has nothing left to do but to end.
  state->thread = std::jthread([state](std::stop_token stop) { run(*state, std::move(stop)); });
}

void CredentialCache::run(State& state, std::stop_token stop) {
  auto fetched = [&]() -> Result<S3Credentials> {
    try {
      return state.fetch(std::move(stop));
    } catch (...) {
      return fail(ErrorCode::kNoMemory, "no memory for credentials");
    }
  }();
  const MutexLock lock(state.mutex);
  state.is_fetching = false;
  state.tried_at = std::chrono::steady_clock::now();
  if (!fetched) {
    state.error = std::move(fetched).error();
    return;
  }
  state.error.reset();
  state.held = std::make_shared<const S3Credentials>(*std::move(fetched));
  state.fetched_at = state.tried_at;
}

}  // namespace penstock
