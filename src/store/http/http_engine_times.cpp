// The part of an HTTP store that watches the time: it notices stalls, sends hedges, and gives up.
#ifdef PENSTOCK_WITH_CURL
#include <fmt/format.h>

#include <algorithm>

#include "store/http/http_engine.h"

namespace penstock {
namespace {

constexpr int kMaxHedges = 5;
constexpr auto kLongestPoll = std::chrono::milliseconds(1000);

}  // namespace

void HttpEngine::try_again(HttpRequest& request, HttpTransfer::Outcome outcome, Clock::time_point now) {
  if (request.transfers() > 0) return;  // the other transfer may still succeed
  request.fresh_connection = outcome.connection_failed;
  if (request.is_waiting) return;  // it is sent again anyway
  HttpRead& read = request.read;
  const RetryOptions& retry = options_.retry;
  if (++request.failures == 1) request.first_failure = now;
  const bool is_refused = outcome.next == Verdict::Next::kSignAgain || outcome.next == Verdict::Next::kRenew;
  if (is_refused || outcome.next == Verdict::Next::kRetryBriefly) ++request.odd_answers;
  auto delay = backoff_delay(retry, request.failures, jitter_.uniform());
  if (outcome.retry_after) delay = std::max(delay, *outcome.retry_after);
  const bool is_hopeless =
      outcome.error.code == ErrorCode::kUnsupported && keeps_ignoring_ranges(request.url);
  if (is_hopeless || request.odd_answers >= retry.max_odd_answers || request.tries >= retry.max_tries ||
      now + delay > request.first_failure + retry.give_up_after) {
    request.last_error = std::move(outcome.error);
    return give_up(request);
  }
  // It starts again at the first URL, because the target of a redirect may be valid only once.
  if (request.is_shortcut && outcome.connection_failed) redirects_.forget(read.url);
  begin_at_first_url(request, now);
  request.is_waiting = true;
  request.last_error = std::move(outcome.error);
  waiting_.push_back({now + delay, &request});
  next_check_ = std::min(next_check_, now + delay);
}

// One such answer may be an accident of a proxy. But if no request gets a range, repeating each of a thousand requests
// would take minutes.
bool HttpEngine::keeps_ignoring_ranges(const HttpUrl& server) {
  return ++ignored_ranges_[server.server()] >= options_.retry.max_odd_answers;
}

void HttpEngine::give_up(HttpRequest& request) {
  if (request.tries > 1)
    request.last_error.message += fmt::format("; given up after {} tries", request.tries);
  request.last_error.retryable = request.last_error.code == ErrorCode::kIo;
  finish(request.read, std::unexpected(std::move(request.last_error)));
}

void HttpEngine::check_times(Clock::time_point now) {
  next_check_ = now + kLongestPoll;
  if (!on_wire_.empty()) next_check_ = now + kCheckEvery;
  const std::vector<HttpTransfer*> flying = on_wire_;
  for (HttpTransfer* transfer : flying)
    if (std::ranges::find(on_wire_, transfer) != on_wire_.end()) check_transfer(*transfer, now);
  release_due(now);
}

void HttpEngine::check_transfer(HttpTransfer& transfer, Clock::time_point now) {
  HttpRequest& request = transfer.request();
  Clock::duration patience = options_.stall_after;
  const HttpRead& read = request.read;
  const bool may_hedge = options_.hedge_after.count() > 0 && read.may_hedge();
  Clock::duration late = options_.hedge_after;
  late = std::max(
      late, std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(4 * usual_seconds_)));
  const bool is_answered = request.answered == &transfer;
  // The bytes of a head do not count as progress, because a server could send them one at a time.
  auto silent = now - (is_answered ? transfer.last_progress() : transfer.answered_at().value_or(transfer.last_sent()));
  if (read.is_exchange()) {
    // A service may begin its answer long before it ends it, and answers are short, so only the whole time counts.
    silent = now - transfer.last_sent();
    patience = read.exchange.patience.count() > 0 ? Clock::duration(read.exchange.patience) : 3 * patience;
  }
  // If bytes flowed and stopped, the connection is probably dead, rather than the server busy.
  if (!read.is_exchange() && is_answered && may_hedge && request.failures < 8)
    patience = std::min(patience, late * (1 << request.failures));
  std::string why;
  if (silent >= patience)
    why = fmt::format("silent for {} ms",
                      std::chrono::duration_cast<std::chrono::milliseconds>(silent).count());
  if (now - transfer.window_start >= options_.stall_after) {
    const double seconds = seconds_between(transfer.window_start, now);
    const std::uint64_t came = transfer.received() - transfer.window_received;
    if (is_answered && !read.is_exchange() &&
        static_cast<double>(came) < static_cast<double>(options_.least_bytes_per_second) * seconds)
      why = fmt::format("{} bytes in {:.1f} s", came, seconds);
    transfer.window_start = now;
    transfer.window_received = transfer.received();
  }
  if (!why.empty()) {
    transfer.abandon(std::move(why));
    return conclude(transfer, transfer.end(CURLE_OPERATION_TIMEDOUT), now);
  }
  if (may_hedge && request.answered == nullptr && !request.is_waiting) hedge(transfer, late, now);
}

// If the second transfer is late as well, it stays, and a third one replaces the first.
void HttpEngine::hedge(HttpTransfer& transfer, Clock::duration late, Clock::time_point now) {
  HttpRequest& request = transfer.request();
  HttpTransfer* other = request.on_wire[request.on_wire[0] == &transfer ? 1 : 0];
  if (other != nullptr && other->started() > transfer.started()) return;  // the newest one decides
  if (request.hedges >= kMaxHedges) return;  // it may never answer; check_transfer() notices that
  const Clock::duration patience = late * (1 << request.hedges);
  if (now - transfer.started() < patience || !budget_.try_take(now)) return;
  if (other != nullptr) take_off_wire(*other, now, RequestWindow::Outcome::kFailed);
  ++request.hedges;
  make_ready(request);
}

void HttpEngine::release_due(Clock::time_point now) {
  std::vector<HttpRequest*> too_late;
  std::erase_if(waiting_, [&](Waiting& waiting) {
    if (waiting.due > now) {
      next_check_ = std::min(next_check_, waiting.due);
      return false;
    }
    if (waiting.is_retry && !budget_.try_take(now)) {
      if (now > waiting.request->first_failure + options_.retry.give_up_after)
        too_late.push_back(waiting.request);
      waiting.due = budget_.next_chance(now);
      next_check_ = std::min(next_check_, waiting.due);
      return false;
    }
    make_ready(*waiting.request);
    return true;
  });
  // One at a time, because giving up one part of a read ends its other parts.
  if (!too_late.empty()) give_up(*too_late.front());
}

int HttpEngine::milliseconds_to_wait(Clock::time_point now) const {
  const bool can_send = !ready_.empty() ? has_slot_for(ready_.front()->read)
                                        : !queued_.empty() && has_slot_for(*queued_.front());
  if (can_send) return 0;
  const auto until = std::chrono::ceil<std::chrono::milliseconds>(next_check_ - now);
  return static_cast<int>(std::clamp(until, std::chrono::milliseconds(0), kLongestPoll).count());
}

}  // namespace penstock
#endif
