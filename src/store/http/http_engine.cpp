#ifdef PENSTOCK_WITH_CURL
#include "store/http/http_engine.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "store/object_key.h"

namespace penstock {
namespace {

constexpr int kMaxRedirects = 5;
constexpr auto kSignEvery = std::chrono::milliseconds(20);  // while a credential is being fetched

std::string_view method_of(const HttpRequest& request) {
  if (request.read.is_exchange()) return request.read.exchange.method;
  return request.asked.method == Asked::Method::kHead ? "HEAD" : "GET";
}

void count(std::atomic<std::uint64_t>& counter, std::uint64_t amount = 1) {
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

}  // namespace

Result<std::shared_ptr<HttpEngine>> HttpEngine::start(HttpOptions options) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  std::shared_ptr<HttpEngine> engine(new HttpEngine(std::move(options)));
  if (initialised != CURLE_OK || engine->multi_ == nullptr)
    return fail(ErrorCode::kNoMemory, "cannot set up libcurl");
  engine->thread_ = std::jthread([engine] { engine->run(); });
  return engine;
}

HttpEngine::HttpEngine(HttpOptions options)
    : options_(std::move(options)),
      multi_(curl_multi_init()),
      window_(options_.max_in_flight),
      jitter_(static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()), 0, 0) {
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, long{CURLPIPE_NOTHING});
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(options_.max_in_flight));
}

HttpEngine::~HttpEngine() {
  transfers_.clear();
  curl_multi_cleanup(multi_);
}

void HttpEngine::wake() { curl_multi_wakeup(multi_); }

void HttpEngine::submit(std::unique_ptr<HttpRead> read) {
  if (read->stop.stop_possible())
    read->on_stop.emplace(read->stop, [this] {
      some_stopped_.store(true);
      wake();
    });
  bool is_first = false;
  {
    const MutexLock lock(mutex_);
    if (!is_closed_) {
      is_first = inbox_.empty();
      inbox_.push_back(std::move(read));
    }
  }
  if (read != nullptr)
    return call_done(*read, std::unexpected(read->error(ErrorCode::kStopped, "store closed")));
  if (is_first) wake();
}

void HttpEngine::stop() {
  is_stopping_.store(true);
  wake();
  // The last reference to a store may be dropped by a `done` callback; then the thread ends by itself.
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

Result<HttpUrl> HttpEngine::url_of_key(const std::string& key) const {
  if (options_.url_of_key) return options_.url_of_key(key);
  auto parsed = parse_http_url(key);
  if (!parsed) return parsed;
  HttpUrl& url = *parsed;
  if (is_selection_digest(url.userinfo)) url.userinfo.clear();
  if (!options_.server.empty() && url.server() != options_.server) return parsed;
  if (url.userinfo.empty()) url.userinfo = options_.userinfo;
  if (!options_.query.empty() && url.target.find('?') == std::string::npos) url.target += "?" + options_.query;
  return parsed;
}

HttpCounters HttpEngine::counters() const {
  return {requests_.load(), retries_.load(), hedges_.load(), bytes_.load(), window_.in_flight(), limit()};
}

void HttpEngine::run() {
  // Signals go to the threads of the program. A broken connection is an error here, not a SIGPIPE.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  Error end{ErrorCode::kStopped, "store closed", {}, false};
  try {
    while (!is_stopping_.load()) step();
  } catch (const std::bad_alloc&) {
    end = {ErrorCode::kNoMemory, "no memory for requests", {}, false};
  }
  {
    const MutexLock lock(mutex_);
    is_closed_ = true;
  }
  take_inbox();
  for (auto& read : queued_) active_.emplace(read.get(), std::move(read));
  queued_.clear();
  while (!active_.empty()) {
    HttpRead& read = *active_.begin()->first;
    finish(read, std::unexpected(read.error(end.code, end.message)));
  }
}

void HttpEngine::step() {
  take_inbox();
  if (some_stopped_.exchange(false)) drop_stopped();
  fill_slots(Clock::now());
  int running = 0;
  curl_multi_perform(multi_, &running);
  const Clock::time_point now = Clock::now();
  follow_answers(now);
  collect_ended(now);
  if (now >= next_check_) check_times(now);
  if (const int wait_ms = milliseconds_to_wait(now); wait_ms > 0)
    curl_multi_poll(multi_, nullptr, 0, wait_ms, nullptr);
}

void HttpEngine::take_inbox() {
  std::vector<std::unique_ptr<HttpRead>> arrived;
  {
    const MutexLock lock(mutex_);
    arrived.swap(inbox_);
  }
  for (auto& read : arrived) {
    // The stop may have been requested before the read arrived.
    if (read->stop.stop_requested()) some_stopped_.store(true);
    queued_.push_back(std::move(read));
  }
}

void HttpEngine::drop_stopped() {
  for (auto& read : queued_)
    if (read->stop.stop_requested()) active_.emplace(read.get(), std::move(read));
  std::erase(queued_, nullptr);
  std::vector<HttpRead*> stopped;
  for (const auto& [read, owner] : active_)
    if (read->stop.stop_requested()) stopped.push_back(read);
  for (HttpRead* read : stopped)
    finish(*read, std::unexpected(read->error(ErrorCode::kStopped, "no longer wanted")));
}

bool HttpEngine::has_slot_for(const HttpRead& read) const {
  return on_wire_.size() < (read.is_urgent() ? std::max(limit(), urgent_limit()) : limit());
}

void HttpEngine::fill_slots(Clock::time_point now) {
  while (true) {
    if (!ready_.empty()) {
      HttpRequest& request = *ready_.front();
      if (!has_slot_for(request.read)) return;
      ready_.pop_front();
      request.is_waiting = false;
      send(request, now);
      continue;
    }
    if (queued_.empty() || !has_slot_for(*queued_.front())) return;
    HttpRead& read = *queued_.front();
    active_.emplace(&read, std::move(queued_.front()));
    queued_.pop_front();
    if (auto sensible = read.resolve(); !sensible) {
      finish(read, std::unexpected(std::move(sensible).error()));
      continue;
    }
    read.plan(limit() - std::min(limit(), on_wire_.size()));
    for (const auto& request : read.requests) {
      if (!redirects_.empty()) begin_at_first_url(*request, now);
      request->is_waiting = true;
      ready_.push_back(request.get());
    }
  }
}

// Or where a redirect of it is known to lead.
void HttpEngine::begin_at_first_url(HttpRequest& request, Clock::time_point now) {
  const RedirectMemory::Target* const known = redirects_.find(request.read.url, now);
  request.is_shortcut = known != nullptr;
  request.url = known != nullptr ? known->url : request.read.url;
  request.left_its_server = known != nullptr && known->left_its_server;
  if (known != nullptr) request.from_inner = known->from_inner;
  request.redirects = 0;
}

Result<std::vector<HttpHeader>> HttpEngine::sign(const HttpRequest& request) {
  const HttpRead& read = request.read;
  std::vector<HttpHeader> headers = read.exchange.headers;
  for (const std::string& line : options_.headers) {
    const std::size_t colon = line.find(':');
    const std::size_t value = std::min(line.find_first_not_of(' ', colon + 1), line.size());
    headers.push_back({line.substr(0, colon), line.substr(value)});
  }
  if (const std::string range = range_header(request.asked); !range.empty())
    headers.push_back({"Range", "bytes=" + range});
  if (read.is_exchange() && (read.exchange.method == "PUT" || read.exchange.method == "POST"))
    headers.push_back({"Content-Length", fmt::format("{}", read.exchange.body.size())});
  return options_.signer->sign({method_of(request), request.url, headers, read.exchange.payload_sha256},
                               std::chrono::system_clock::now() + clock_offset_);
}

void HttpEngine::wait_for_credential(HttpRequest& request, Error error, Clock::time_point now) {
  if (request.transfers() > 0) return;
  if (request.unsigned_since == Clock::time_point{}) request.unsigned_since = now;
  HttpRead& read = request.read;
  if (!error.retryable || now > request.unsigned_since + options_.retry.give_up_after)
    return finish(read, std::unexpected(read.error(error.code, std::move(error.message))));
  request.is_waiting = true;
  waiting_.push_back({now + kSignEvery, &request, false});
  next_check_ = std::min(next_check_, now + kSignEvery);
}

void HttpEngine::send(HttpRequest& request, Clock::time_point now) {
  std::vector<HttpHeader> signature;
  if (options_.signer != nullptr && (!request.left_its_server || options_.signer->may_sign_for(request.url))) {
    auto made = sign(request);
    if (!made) return wait_for_credential(request, std::move(made).error(), now);
    signature = *std::move(made);
    request.unsigned_since = {};
  }
  if (idle_.empty()) {
    transfers_.push_back(std::make_unique<HttpTransfer>(options_, sockets_));
    idle_.push_back(transfers_.back().get());
  }
  HttpTransfer& transfer = *idle_.back();
  if (!transfer.begin(request, signature, now) || curl_multi_add_handle(multi_, transfer.handle()) != CURLM_OK) {
    HttpRead& read = request.read;
    return finish(read, std::unexpected(read.error(ErrorCode::kNoMemory, "no memory for a request")));
  }
  idle_.pop_back();
  on_wire_.push_back(&transfer);
  request.on_wire[request.on_wire[0] == nullptr ? 0 : 1] = &transfer;
  if (!request.read.is_urgent()) window_.sent(now);
  count(requests_);
  ++request.tries;
  if (transfer.is_hedge()) count(hedges_);
  if (request.failures > 0 || transfer.is_hedge())
    count(retries_);
  else
    budget_.request_sent();
  next_check_ = std::min(next_check_, now + kCheckEvery);
}

// Does what curl's callbacks cannot do themselves: ends the slower of two transfers, requests the rest of an object.
void HttpEngine::follow_answers(Clock::time_point now) {
  const std::vector<HttpTransfer*> flying = on_wire_;
  for (HttpTransfer* transfer : flying) {
    HttpRequest& request = transfer->request();
    if (request.answered != transfer) continue;
    end_twins(request, transfer, now);
    if (request.read.has_open_pieces) settle_pieces(request.read, now);
  }
}

// The answer that told the size is still on the wire, so the read does not end here.
void HttpEngine::settle_pieces(HttpRead& read, Clock::time_point now) {
  const std::size_t before = read.requests.size();
  read.settle_pieces(limit() - std::min(limit(), on_wire_.size()));
  for (std::size_t i = read.requests.size(); i-- > 0;) {
    HttpRequest& request = *read.requests[i];
    if (request.is_void) {
      end_twins(request, nullptr, now);
      finish_request(request);
    } else if (i >= before || request.is_parked) {
      make_ready(request);
    }
    request.is_parked = false;
  }
}

void HttpEngine::end_twins(HttpRequest& request, const HttpTransfer* keep, Clock::time_point now) {
  for (HttpTransfer* other : {request.on_wire[0], request.on_wire[1]})
    if (other != nullptr && other != keep) take_off_wire(*other, now, RequestWindow::Outcome::kFailed);
  leave_queues(request);
}

// A request waits in `ready_` or, until it is sent again or can be signed, in `waiting_`.
void HttpEngine::leave_queues(HttpRequest& request) {
  if (!request.is_waiting) return;
  request.is_waiting = false;
  std::erase(ready_, &request);
  std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.request == &request; });
}

void HttpEngine::collect_ended(Clock::time_point now) {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    char* pointer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &pointer);
    HttpTransfer& transfer = *static_cast<HttpTransfer*>(static_cast<void*>(pointer));
    if (std::ranges::find(on_wire_, &transfer) == on_wire_.end()) continue;  // the slower of two transfers
    conclude(transfer, transfer.end(code), now);
  }
}

void HttpEngine::conclude(HttpTransfer& transfer, HttpTransfer::Outcome outcome, Clock::time_point now) {
  HttpRequest& request = transfer.request();
  if (!request.left_its_server && transfer.came_from_inner()) request.from_inner = true;
  const bool worked = outcome.next == Verdict::Next::kAccept;
  if (const auto answered = transfer.answered_at(); worked && answered) {
    const double seconds = seconds_between(transfer.started(), *answered);
    usual_seconds_ = usual_seconds_ == 0
                         ? seconds
                         : usual_seconds_ + 0.1 * (std::min(seconds, 4 * usual_seconds_) - usual_seconds_);
  }
  // A server that never answered anything is more likely a wrong name than an outage.
  if (outcome.next == Verdict::Next::kRetry && usual_seconds_ == 0 && !transfer.answered_at())
    outcome.next = Verdict::Next::kRetryBriefly;
  if (worked) {
    count(bytes_, transfer.received());
    const bool is_range = request.asked.range.offset > 0;
    if (is_range && !ignored_ranges_.empty()) ignored_ranges_.erase(request.url.server());
  }
  take_off_wire(transfer, now,
                worked                ? RequestWindow::Outcome::kDone
                : outcome.pushed_back ? RequestWindow::Outcome::kPushedBack
                                      : RequestWindow::Outcome::kFailed);
  request.answered = nullptr;
  // The target of a remembered redirect may have gone before its time. The first server knows where the object is.
  if (request.is_shortcut && !worked && outcome.next == Verdict::Next::kFail) {
    redirects_.forget(request.read.url);
    outcome.next = Verdict::Next::kAskOtherwise;
    outcome.method = request.asked.method;
    begin_at_first_url(request, now);
  }
  if (outcome.next == Verdict::Next::kRenew && (options_.signer == nullptr || !options_.signer->renew()))
    outcome.next = Verdict::Next::kFail;
  if (outcome.next == Verdict::Next::kSignAgain && outcome.server_time_s)
    clock_offset_ = std::chrono::seconds(*outcome.server_time_s -
                                         std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  if (request.is_guess() && !worked && outcome.next != Verdict::Next::kRedirect) {
    end_twins(request, nullptr, now);
    request.is_parked = true;
    return;
  }
  const bool goes_on_elsewhere =
      outcome.next == Verdict::Next::kRedirect || outcome.next == Verdict::Next::kAskOtherwise;
  if (goes_on_elsewhere) {
    end_twins(request, nullptr, now);
    --request.tries;
  }
  switch (outcome.next) {
    case Verdict::Next::kAccept:
      if (request.failures > 0) budget_.retry_worked();
      return finish_request(request);
    case Verdict::Next::kRedirect: return follow_redirect(request, outcome, now);
    case Verdict::Next::kAskOtherwise: request.asked.method = outcome.method; return make_ready(request);
    case Verdict::Next::kSignAgain:
    case Verdict::Next::kRenew:
    case Verdict::Next::kRetry:
    case Verdict::Next::kRetryBriefly: return try_again(request, std::move(outcome), now);
    case Verdict::Next::kFail: return finish(request.read, std::unexpected(std::move(outcome.error)));
  }
}

void HttpEngine::follow_redirect(HttpRequest& request, const HttpTransfer::Outcome& outcome, Clock::time_point now) {
  HttpRead& read = request.read;
  if (++request.redirects > kMaxRedirects)
    return finish(read, std::unexpected(read.error(
                            ErrorCode::kIo, fmt::format("redirected more than {} times", kMaxRedirects))));
  auto target = redirect_target(request.url, outcome.location, {options_.allow_other_hosts, request.from_inner});
  if (!target)
    return finish(read, std::unexpected(read.error(target.error().code, std::move(target.error().message))));
  request.left_its_server = !target->same_server(read.url);
  if (outcome.redirect_lifetime)
    redirects_.remember(read.url, {*target, request.left_its_server, now + *outcome.redirect_lifetime,
                                   request.from_inner});
  else
    redirects_.forget(read.url);
  request.is_shortcut = false;
  request.url = std::move(*target);
  make_ready(request);
}

// It goes before all requests that were not sent yet, because a reader is waiting for it already.
void HttpEngine::make_ready(HttpRequest& request) {
  request.is_waiting = true;
  ready_.push_front(&request);
}

void HttpEngine::take_off_wire(HttpTransfer& transfer, Clock::time_point now,
                               RequestWindow::Outcome outcome) {
  curl_multi_remove_handle(multi_, transfer.handle());
  std::erase(on_wire_, &transfer);
  idle_.push_back(&transfer);
  if (!transfer.request().read.is_urgent()) window_.ended(now, transfer.received() + transfer.sent(), outcome);
  for (HttpTransfer*& place : transfer.request().on_wire)
    if (place == &transfer) place = nullptr;
}

void HttpEngine::finish_request(HttpRequest& request) {
  HttpRead& read = request.read;
  if (--read.requests_left == 0) finish(read, read.result());
}

void HttpEngine::finish(HttpRead& read, Result<ObjectBytes> result) {
  const auto found = active_.find(&read);
  const std::unique_ptr<HttpRead> owner = std::move(found->second);
  active_.erase(found);
  const Clock::time_point now = Clock::now();
  for (const auto& request : read.requests) {
    for (HttpTransfer* transfer : {request->on_wire[0], request->on_wire[1]})
      if (transfer != nullptr) take_off_wire(*transfer, now, RequestWindow::Outcome::kFailed);
    leave_queues(*request);
  }
  read.on_stop.reset();
  call_done(read, std::move(result));
}

void HttpEngine::call_done(HttpRead& read, Result<ObjectBytes> result) {
  try {
    if (read.is_exchange()) {
      const auto done = std::move(read.exchange_done);
      if (result) return done(std::move(read.answer));
      return done(std::unexpected(std::move(result).error()));
    }
    const Store::Done done = std::move(read.done);
    done(std::move(result));
  } catch (...) {
    // The callback was called, as promised. This thread has nobody to report its exception to.
  }
}

}  // namespace penstock
#endif
