// One request on the wire: a curl handle, and the part of the answer that was received so far.
//
// Belongs to the store's thread. Nothing here waits; curl calls back while the engine runs it.
#pragma once

#include <curl/curl.h>

#include "store/http/http_read.h"
#include "store/http/http_sockets.h"
#include "store/http/http_store.h"

namespace penstock {

class HttpTransfer {
 public:
  struct Outcome {
    Verdict::Next next = Verdict::Next::kFail;  // kAccept: all bytes were received
    Error error;
    bool connection_failed = false;
    bool pushed_back = false;
    std::optional<std::chrono::milliseconds> retry_after;
    std::string location;
    std::optional<std::chrono::seconds> redirect_lifetime;
    std::optional<std::int64_t> server_time_s;  // for kSignAgain
    Asked::Method method = Asked::Method::kGet;
  };

  HttpTransfer(const HttpOptions& options, HttpSockets& sockets);
  HttpTransfer(const HttpTransfer&) = delete;
  ~HttpTransfer();

  CURL* handle() const { return handle_; }
  HttpRequest& request() const { return *request_; }
  bool is_hedge() const { return is_hedge_; }

  // Prepares the handle. Returns false if curl has no memory.
  bool begin(HttpRequest& request, const std::vector<HttpHeader>& signature, Clock::time_point now);
  Outcome end(CURLcode code);
  // The engine gives the transfer up, for this reason.
  void abandon(std::string why) { abandoned_ = std::move(why); }

  Clock::time_point started() const { return started_; }
  Clock::time_point last_progress() const { return last_progress_; }
  std::optional<Clock::time_point> answered_at() const { return answered_at_; }
  std::uint64_t received() const { return received_; }
  // When the last bytes of the request's body were sent, or the request where it has none.
  Clock::time_point last_sent() const { return last_sent_; }
  std::uint64_t sent() const { return sent_; }
  // The server answered from an address of the inner network.
  bool came_from_inner() const;

  // The period over which the rate is measured.
  Clock::time_point window_start{};
  std::uint64_t window_received = 0;

 private:
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_send(char* data, std::size_t size, std::size_t count, void* self);
  static int on_seek(void* self, curl_off_t offset, int origin);
  static curl_socket_t on_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int on_request(void* self, char* remote_address, char* local_address, int remote_port, int local_port);

  bool take_line(std::string_view line);
  void keep_field(std::string_view line);
  std::string_view field(std::string_view name) const;
  bool take_body(ConstBytes bytes);
  bool was_sent() const;
  bool may_connect(Network network) const;
  Outcome end_exchange(CURLcode code);
  Outcome refusal(Verdict verdict) const;
  Verdict judged(Verdict usual, std::string_view body) const;
  Outcome transport_failure(CURLcode code) const;
  Outcome outcome(Verdict::Next next, ErrorCode code, std::string message) const;

  const HttpOptions& options_;
  HttpSockets& sockets_;
  const bool uses_proxy_;
  CURL* handle_ = nullptr;
  curl_slist* headers_ = nullptr;
  char curl_message_[CURL_ERROR_SIZE] = {};

  HttpRequest* request_ = nullptr;
  bool is_hedge_ = false;
  ResponseHead head_;
  std::vector<HttpHeader> fields_;  // of the head, where they are wanted
  std::string body_;                // of an error or an exchange
  std::optional<Verdict> verdict_;
  std::optional<Error> refused_;  // by the reader (no memory), or an address that is not allowed
  std::string abandoned_;
  bool is_too_long_ = false, is_head_too_long_ = false, found_unasked_bytes_ = false;
  std::uint64_t received_ = 0, discarded_ = 0, head_bytes_ = 0;
  std::uint64_t sent_ = 0;
  Clock::time_point started_{}, last_progress_{}, last_sent_{};
  std::optional<Clock::time_point> answered_at_;
};

}  // namespace penstock
