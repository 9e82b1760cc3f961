// Sends the requests of all reads of an HTTP store, with one thread and one curl multi handle.
//
// A read waits in `queued_` until there is a slot, then becomes requests. A request is in `ready_` (it may be sent), on
// the wire, or in `waiting_` (it is sent again later). Only the engine's thread touches the members below "owned by
// the thread"; other threads use the inbox.
#pragma once

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <unordered_map>

#include "base/guarded.h"
#include "base/random.h"
#include "store/http/http_transfer.h"
#include "store/http/redirect_memory.h"
#include "store/http/request_window.h"

namespace penstock {

class HttpEngine {
 public:
  // The thread keeps the engine alive until it has ended.
  static Result<std::shared_ptr<HttpEngine>> start(HttpOptions options);
  ~HttpEngine();

  // Any thread may call it. `read->done` is called once, on the engine's thread.
  void submit(std::unique_ptr<HttpRead> read) PENSTOCK_EXCLUDES(mutex_);
  // Ends all reads with kStopped, and ends the thread. May be called once.
  void stop();

  std::size_t limit() const { return window_.limit(); }
  // For a short time, urgent reads may use more connections than are efficient in the long run.
  std::size_t urgent_limit() const { return std::min(options_.max_in_flight, kMaxUrgent); }
  HttpCounters counters() const;
  // The URL of a key, with the userinfo and the query of the options if they are meant for its server, and without the
  // digest that replaces the query in an object's key. Any thread may call it.
  Result<HttpUrl> url_of_key(const std::string& key) const;
  bool has_judge() const { return options_.judge != nullptr; }

 private:
  struct Waiting {
    Clock::time_point due;
    HttpRequest* request;
    bool is_retry = true;  // false: it was not sent, because it could not be signed
  };

  static constexpr std::size_t kMaxUrgent = 32;
  static constexpr auto kCheckEvery = std::chrono::milliseconds(10);  // while requests are in flight

  explicit HttpEngine(HttpOptions options);

  void run() PENSTOCK_EXCLUDES(mutex_);
  void step() PENSTOCK_EXCLUDES(mutex_);
  void take_inbox() PENSTOCK_EXCLUDES(mutex_);
  void drop_stopped();
  void fill_slots(Clock::time_point now);
  bool has_slot_for(const HttpRead& read) const;
  void send(HttpRequest& request, Clock::time_point now);
  void follow_answers(Clock::time_point now);
  void settle_pieces(HttpRead& read, Clock::time_point now);
  void end_twins(HttpRequest& request, const HttpTransfer* keep, Clock::time_point now);
  void collect_ended(Clock::time_point now);
  void conclude(HttpTransfer& transfer, HttpTransfer::Outcome outcome, Clock::time_point now);
  void begin_at_first_url(HttpRequest& request, Clock::time_point now);
  Result<std::vector<HttpHeader>> sign(const HttpRequest& request);
  void wait_for_credential(HttpRequest& request, Error error, Clock::time_point now);
  void follow_redirect(HttpRequest& request, const HttpTransfer::Outcome& outcome, Clock::time_point now);
  void try_again(HttpRequest& request, HttpTransfer::Outcome outcome, Clock::time_point now);
  void give_up(HttpRequest& request);
  bool keeps_ignoring_ranges(const HttpUrl& server);
  void check_times(Clock::time_point now);
  void check_transfer(HttpTransfer& transfer, Clock::time_point now);
  void hedge(HttpTransfer& transfer, Clock::duration late, Clock::time_point now);
  void release_due(Clock::time_point now);
  int milliseconds_to_wait(Clock::time_point now) const;

  void make_ready(HttpRequest& request);
  void leave_queues(HttpRequest& request);
  void take_off_wire(HttpTransfer& transfer, Clock::time_point now, RequestWindow::Outcome outcome);
  void finish_request(HttpRequest& request);
  void finish(HttpRead& read, Result<ObjectBytes> result);
  static void call_done(HttpRead& read, Result<ObjectBytes> result);
  void wake();

  const HttpOptions options_;
  HttpSockets sockets_;
  CURLM* const multi_;
  std::atomic<bool> is_stopping_{false}, some_stopped_{false};
  Mutex mutex_;
  std::vector<std::unique_ptr<HttpRead>> inbox_ PENSTOCK_GUARDED_BY(mutex_);
  bool is_closed_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::jthread thread_;

  // Owned by the thread.
  RequestWindow window_;
  RetryBudget budget_;
  Draws jitter_;
  std::deque<std::unique_ptr<HttpRead>> queued_;
  std::unordered_map<HttpRead*, std::unique_ptr<HttpRead>> active_;
  std::deque<HttpRequest*> ready_;
  std::vector<Waiting> waiting_;
  std::vector<HttpTransfer*> on_wire_;
  std::vector<std::unique_ptr<HttpTransfer>> transfers_;
  std::vector<HttpTransfer*> idle_;
  std::unordered_map<std::string, int> ignored_ranges_;  // per server, since it last sent a range
  RedirectMemory redirects_;
  std::chrono::seconds clock_offset_{0};                 // the server's time less ours
  double usual_seconds_ = 0;                             // until an answer begins
  Clock::time_point next_check_{};
  std::atomic<std::uint64_t> requests_{0}, retries_{0}, hedges_{0}, bytes_{0};
};

}  // namespace penstock
