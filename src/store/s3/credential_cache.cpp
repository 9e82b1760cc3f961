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
    const MutexLock lock(mutex_);
    is_closing_ = true;
    thread = std::move(thread_);
  }
}  // the thread is asked to stop and joined here, without the lock

Result<std::shared_ptr<const S3Credentials>> CredentialCache::current() {
  const MutexLock lock(mutex_);
  const Time now = std::chrono::steady_clock::now();
  if (held_ != nullptr) {
    if (!held_->expires) return held_;
    const auto left = *held_->expires - std::chrono::system_clock::now();
    // A quarter of the life before its end, so that a short life is not all refreshing.
    const auto life = left + (now - fetched_at_);
    const auto ahead = std::min<std::chrono::nanoseconds>(kAheadAtMost, life / 4);
    if (left < ahead && !is_fetching_ && now - tried_at_ > kRetryPause) start_fetch();
    if (left > std::min<std::chrono::nanoseconds>(kLastMoment, life / 8)) return held_;
    if (left > seconds(0) && is_fetching_) return held_;
  }
  if (is_fetching_) return std::unexpected(is_fetching_error());
  if (error_ && now - tried_at_ < (error_->retryable ? seconds(kRetryPause) : seconds(kErrorStays)))
    return std::unexpected(*error_);
  start_fetch();
  return std::unexpected(is_fetching_error());
}

bool CredentialCache::renew() {
  const MutexLock lock(mutex_);
  if (held_ == nullptr || std::chrono::steady_clock::now() - fetched_at_ < kYoung) return true;
  if (!is_fetching_) {
    held_ = nullptr;
    start_fetch();
  }
  return true;
}

std::uint64_t CredentialCache::fetches() const {
  const MutexLock lock(mutex_);
  return fetches_;
}

void CredentialCache::start_fetch() {
  if (is_closing_) return;
  is_fetching_ = true;
  tried_at_ = std::chrono::steady_clock::now();
  ++fetches_;
  // The thread before has nothing left to do but to end.
  thread_ = std::jthread([this](std::stop_token stop) { run(std::move(stop)); });
}

void CredentialCache::run(std::stop_token stop) {
  auto fetched = [&]() -> Result<S3Credentials> {
    try {
      return fetch_(stop);
    } catch (...) {
      return fail(ErrorCode::kNoMemory, "no memory for credentials");
    }
  }();
  const MutexLock lock(mutex_);
  is_fetching_ = false;
  tried_at_ = std::chrono::steady_clock::now();
  if (!fetched) {
    error_ = std::move(fetched).error();
    return;
  }
  error_.reset();
  held_ = std::make_shared<const S3Credentials>(*std::move(fetched));
  fetched_at_ = tried_at_;
}

}  // namespace penstock
