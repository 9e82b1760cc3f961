#ifdef PENSTOCK_WITH_CURL
#include "store/http/http_transfer.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/text/lower_case.h"
#include "store/http/redirect_memory.h"

namespace penstock {
namespace {

// Bodies of error answers are read up to this size, because the connection can then be reused.
constexpr std::uint64_t kMaxDiscarded = 64 << 10;
constexpr std::size_t kMaxErrorBytes = 16 << 10;  // that a judge gets
constexpr std::uint64_t kMaxHeadBytes = 256 << 10;
constexpr long kReceiveBuffer = 64 << 10, kSendBuffer = 512 << 10;

std::string_view as_text(ConstBytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// curl obeys these variables; it then connects to the proxy.
bool proxy_in_environment() {
  for (const char* name : {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return true;
  return false;
}

const char* certificates_in_environment() {
  for (const char* name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return nullptr;
}

}  // namespace

HttpTransfer::HttpTransfer(const HttpOptions& options, HttpSockets& sockets)
    : options_(options),
      sockets_(sockets),
      uses_proxy_(proxy_in_environment()),
      handle_(curl_easy_init()) {}

HttpTransfer::~HttpTransfer() {
  curl_easy_cleanup(handle_);
  curl_slist_free_all(headers_);
}

bool HttpTransfer::begin(HttpRequest& request, const std::vector<HttpHeader>& signature, Clock::time_point now) {
  if (handle_ == nullptr) return false;
  request_ = &request;
  is_hedge_ = request.transfers() > 0;
  head_ = {};
  fields_.clear();
  body_.clear();
  verdict_.reset();
  refused_.reset();
  abandoned_.clear();
  is_too_long_ = is_head_too_long_ = found_unasked_bytes_ = false;
  received_ = discarded_ = head_bytes_ = sent_ = 0;
  started_ = last_progress_ = last_sent_ = window_start = now;
  window_received = 0;
  answered_at_.reset();

  curl_easy_reset(handle_);  // keeps connections and names
  curl_slist_free_all(headers_);
  headers_ = nullptr;
  bool ok = true;
  const auto set = [&](CURLoption option, auto value) {
    ok = ok && curl_easy_setopt(handle_, option, value) == CURLE_OK;
  };
  const auto add_header = [&](const char* line) {
    curl_slist* longer = curl_slist_append(headers_, line);
    ok = ok && longer != nullptr;
    if (longer != nullptr) headers_ = longer;
  };
  curl_message_[0] = '\0';
  set(CURLOPT_ERRORBUFFER, curl_message_);
  set(CURLOPT_PRIVATE, static_cast<void*>(this));
  set(CURLOPT_URL, request.url.text().c_str());
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // closing does not wait for the resolver
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_timeout.count()));
  // curl refuses this while it still holds a buffer from a request that failed early. Any size is good enough.
  curl_easy_setopt(handle_, CURLOPT_BUFFERSIZE, kReceiveBuffer);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_USERAGENT, "penstock");
  set(CURLOPT_HEADERFUNCTION, &HttpTransfer::on_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &HttpTransfer::on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_OPENSOCKETFUNCTION, &HttpTransfer::on_socket);
  set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
  set(CURLOPT_CLOSESOCKETFUNCTION, &HttpSockets::close);
  set(CURLOPT_CLOSESOCKETDATA, static_cast<void*>(&sockets_));
  set(CURLOPT_PREREQFUNCTION, &HttpTransfer::on_request);
  set(CURLOPT_PREREQDATA, static_cast<void*>(this));
  set(CURLOPT_FRESH_CONNECT, request.fresh_connection || is_hedge_ ? 1L : 0L);
  if (request.asked.method == Asked::Method::kHead) set(CURLOPT_NOBODY, 1L);
  if (const std::string range = range_header(request.asked); !range.empty())
    set(CURLOPT_RANGE, range.c_str());
  if (const char* bundle = certificates_in_environment()) set(CURLOPT_CAINFO, bundle);
  add_header("Accept-Encoding: identity");
  const bool is_meant = options_.server.empty() || request.url.server() == options_.server;
  // The signature covers headers, so it and they go to the same servers.
  const bool is_trusted =
      !request.left_its_server || (options_.signer != nullptr && options_.signer->may_sign_for(request.url));
  if (is_meant && is_trusted)
    for (const std::string& line : options_.headers) add_header(line.c_str());
  const auto add = [&](const HttpHeader& header) {
    // curl wants a semicolon for a header without a value.
    add_header((header.name + (header.value.empty() ? ";" : ": ") + header.value).c_str());
  };
  for (const HttpHeader& header : signature) add(header);
  if (options_.reads_credentials) set(CURLOPT_NOPROXY, "*");
  if (request.read.is_exchange()) {
    const HttpExchange& exchange = request.read.exchange;
    if (is_trusted)
      for (const HttpHeader& header : exchange.headers) add(header);
    const bool has_body = exchange.method == "PUT" || exchange.method == "POST";
    if (exchange.method == "HEAD") set(CURLOPT_NOBODY, 1L);
    if (has_body) {
      set(CURLOPT_UPLOAD, 1L);
      set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(exchange.body.size()));
      set(CURLOPT_READFUNCTION, &HttpTransfer::on_send);
      set(CURLOPT_READDATA, static_cast<void*>(this));
      set(CURLOPT_SEEKFUNCTION, &HttpTransfer::on_seek);
      set(CURLOPT_SEEKDATA, static_cast<void*>(this));
      curl_easy_setopt(handle_, CURLOPT_UPLOAD_BUFFERSIZE, kSendBuffer);
      add_header("Expect:");  // curl would wait for a second for servers that do not know it
    }
    if (exchange.method != "GET" && exchange.method != "HEAD" && exchange.method != "PUT")
      set(CURLOPT_CUSTOMREQUEST, exchange.method.c_str());
  }
  set(CURLOPT_HTTPHEADER, headers_);
  return ok;
}

// Exceptions (only bad_alloc can occur) must not pass through curl; the transfer fails instead.
std::size_t HttpTransfer::on_header(char* data, std::size_t size, std::size_t count, void* self) try {
  const bool go_on = static_cast<HttpTransfer*>(self)->take_line({data, size * count});
  return go_on ? size * count : 0;
} catch (...) {
  return 0;
}

std::size_t HttpTransfer::on_body(char* data, std::size_t size, std::size_t count, void* self) try {
  const bool go_on = static_cast<HttpTransfer*>(self)->take_body(as_bytes(data, size * count));
  return go_on ? size * count : 0;
} catch (...) {
  return 0;
}

std::size_t HttpTransfer::on_send(char* data, std::size_t size, std::size_t count, void* self) {
  HttpTransfer& transfer = *static_cast<HttpTransfer*>(self);
  if (!transfer.abandoned_.empty()) return CURL_READFUNC_ABORT;
  const ConstBytes rest = transfer.request_->read.exchange.body.subspan(transfer.sent_);
  const std::size_t taken = std::min(size * count, rest.size());
  if (taken > 0) std::memcpy(data, rest.data(), taken);
  transfer.sent_ += taken;
  transfer.last_sent_ = Clock::now();
  return taken;
}

// curl begins a body again when a connection that it reused turns out to be closed.
int HttpTransfer::on_seek(void* self, curl_off_t offset, int origin) {
  HttpTransfer& transfer = *static_cast<HttpTransfer*>(self);
  const std::size_t size = transfer.request_->read.exchange.body.size();
  if (origin != SEEK_SET || offset < 0 || static_cast<std::uint64_t>(offset) > size) return CURL_SEEKFUNC_FAIL;
  transfer.sent_ = static_cast<std::uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

curl_socket_t HttpTransfer::on_socket(void* self, curlsocktype, curl_sockaddr* address) {
  HttpTransfer& transfer = *static_cast<HttpTransfer*>(self);
  if (!transfer.may_connect(network_of_address(&address->addr))) {
    transfer.refused_ = transfer.request_->read.error(
        ErrorCode::kNoAccess, fmt::format("address that {} has is refused", transfer.request_->url.host));
    return CURL_SOCKET_BAD;
  }
  return transfer.sockets_.open(*address);
}

int HttpTransfer::on_request(void* self, char*, char*, int remote_port, int local_port) {
  HttpTransfer& transfer = *static_cast<HttpTransfer*>(self);
  transfer.found_unasked_bytes_ = transfer.sockets_.has_unasked_bytes(local_port, remote_port);
  return transfer.found_unasked_bytes_ ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

// The name alone proves nothing, so the resolved address is checked as well.
bool HttpTransfer::may_connect(Network network) const {
  if (uses_proxy_ || network == Network::kPublic) return true;
  if (network == Network::kCredentials) return options_.reads_credentials;
  return !request_->left_its_server || request_->url.host == request_->read.url.host || request_->from_inner;
}

bool HttpTransfer::came_from_inner() const {
  const char* address = nullptr;
  if (uses_proxy_ || curl_easy_getinfo(handle_, CURLINFO_PRIMARY_IP, &address) != CURLE_OK) return false;
  return address != nullptr && *address != '\0' && network_of_host(address) == Network::kInner;
}

// curl reports a line that is longer than its limit (100 KiB) as a lack of memory.
bool HttpTransfer::was_sent() const {
  curl_off_t microseconds = 0;
  return curl_easy_getinfo(handle_, CURLINFO_PRETRANSFER_TIME_T, &microseconds) == CURLE_OK && microseconds > 0;
}

bool HttpTransfer::take_line(std::string_view line) {
  last_progress_ = Clock::now();
  if (!abandoned_.empty()) return false;
  // curl stores all header lines.
  is_head_too_long_ = (head_bytes_ += line.size()) > kMaxHeadBytes;
  if (is_head_too_long_) return false;
  const bool was_complete = head_.complete;
  head_.add_line(line);
  if (head_.status >= 300 || request_->read.is_exchange()) keep_field(line);
  if (!head_.complete || was_complete || (head_.status >= 100 && head_.status < 200)) return true;
  // The end of the head. Another transfer of the same request may have been quicker.
  if (request_->answered != nullptr) return false;
  answered_at_ = last_progress_;
  // The connection was made for a request that may reach networks that this one may not.
  if (came_from_inner() && !may_connect(Network::kInner)) {
    refused_ = request_->read.error(ErrorCode::kNoAccess,
                                    fmt::format("address that {} has is refused", request_->url.host));
    return false;
  }
  verdict_ = judge_response(request_->asked, head_);
  if (verdict_->next != Verdict::Next::kAccept)
    // Small bodies of error answers are read and discarded; an object that was not asked for is not read.
    return head_.status != 200 && head_.status != 206;
  request_->answered = this;
  if (request_->read.is_exchange()) return true;
  if (auto accepted = request_->read.accept(*request_, *verdict_); !accepted) {
    refused_ = std::move(accepted).error();
    return false;
  }
  return verdict_->has_body || head_.status != 200;
}

bool HttpTransfer::take_body(ConstBytes bytes) {
  last_progress_ = Clock::now();
  if (!abandoned_.empty() || !verdict_ || (request_->answered != nullptr && request_->answered != this))
    return false;
  if (verdict_->next == Verdict::Next::kAccept && request_->read.is_exchange()) {
    is_too_long_ = body_.size() + bytes.size() > request_->read.exchange.max_answer_bytes;
    if (!is_too_long_) body_ += as_text(bytes);
    received_ += bytes.size();
    return !is_too_long_;
  }
  if (verdict_->next != Verdict::Next::kAccept || !verdict_->has_body) {
    if (options_.judge != nullptr) body_ += as_text(bytes.first(std::min(bytes.size(), kMaxErrorBytes - body_.size())));
    discarded_ += bytes.size();
    return discarded_ <= kMaxDiscarded;
  }
  if (verdict_->length && bytes.size() > *verdict_->length - received_) {
    is_too_long_ = true;
    return false;
  }
  if (!request_->read.write(request_->position + received_, bytes)) {
    is_too_long_ = true;
    return false;
  }
  received_ += bytes.size();
  return true;
}

HttpTransfer::Outcome HttpTransfer::outcome(Verdict::Next next, ErrorCode code, std::string message) const {
  Outcome out;
  out.next = next;
  if (!message.empty()) out.error = request_->read.error(code, std::move(message));
  out.error.retryable = next == Verdict::Next::kRetry || next == Verdict::Next::kRetryBriefly ||
                        next == Verdict::Next::kSignAgain || next == Verdict::Next::kRenew;
  return out;
}

HttpTransfer::Outcome HttpTransfer::end(CURLcode code) {
  if (refused_) {
    Outcome out;
    out.error = std::move(*refused_);
    return out;
  }
  if (found_unasked_bytes_) {
    // The connection is closed; the request goes out on another one.
    Outcome out = outcome(Verdict::Next::kAskOtherwise, ErrorCode::kIo, "");
    out.method = request_->asked.method;
    return out;
  }
  if (is_head_too_long_ || (code == CURLE_OUT_OF_MEMORY && !verdict_ && was_sent()))
    return outcome(Verdict::Next::kRetryBriefly, ErrorCode::kCorrupt, "the head of the answer is too long");
  if (!verdict_) return transport_failure(code);
  if (verdict_->next != Verdict::Next::kAccept) return refusal(judged(*verdict_, body_));
  if (request_->read.is_exchange()) return end_exchange(code);
  HttpRead& read = request_->read;
  if (!verdict_->has_body) return outcome(Verdict::Next::kAccept, ErrorCode::kIo, "");
  if (is_too_long_ && !verdict_->length)
    return outcome(Verdict::Next::kFail, ErrorCode::kTooLarge,
                   fmt::format("answer of unknown length has more than {} bytes", read.wanted.max_bytes));
  if (is_too_long_)
    return outcome(Verdict::Next::kRetryBriefly, ErrorCode::kCorrupt,
                   fmt::format("answer is longer than the {} bytes it promised", *verdict_->length));
  if (code != CURLE_OK || (verdict_->length && received_ != *verdict_->length))
    return transport_failure(code);
  if (!verdict_->length) {
    // The size is known only now, and with it whether this is the wanted version.
    read.length = received_;
    read.version->size = received_;
    if (read.wanted.version && read.wanted.version->size != received_)
      return outcome(Verdict::Next::kFail, ErrorCode::kChanged,
                     fmt::format("object changed while in use ({} bytes now, {} before)", received_,
                                 read.wanted.version->size));
  }
  return outcome(Verdict::Next::kAccept, ErrorCode::kIo, "");
}

Verdict HttpTransfer::judged(Verdict usual, std::string_view body) const {
  // An answer whose request goes out again with another method is judged then.
  if (options_.judge == nullptr || usual.next == Verdict::Next::kAskOtherwise) return usual;
  return options_.judge->judge({head_.status, request_->url, fields_, body, request_->read.is_exchange()},
                               std::move(usual));
}

HttpTransfer::Outcome HttpTransfer::refusal(Verdict verdict) const {
  if (verdict.message.empty()) verdict.message = fmt::format("request refused (HTTP {})", head_.status);
  Outcome out = outcome(verdict.next, verdict.code, std::move(verdict.message));
  out.pushed_back = head_.status == 429 || head_.status == 503;
  out.retry_after = parse_retry_after(head_.retry_after, std::time(nullptr), options_.retry.longest_wish);
  out.method = verdict.method;
  out.location = verdict.location.empty() ? head_.location : std::move(verdict.location);
  if (verdict.next == Verdict::Next::kRedirect)
    if (const auto target = redirect_target(request_->url, out.location, {true, true}))
      out.redirect_lifetime = lifetime_of_redirect({head_.status, field("cache-control"), field("date")}, *target,
                                                   std::time(nullptr));
  if (verdict.next == Verdict::Next::kSignAgain) out.server_time_s = parse_http_date(field("date"));
  return out;
}

HttpTransfer::Outcome HttpTransfer::end_exchange(CURLcode code) {
  HttpRead& read = request_->read;
  if (is_too_long_)
    return outcome(Verdict::Next::kFail, ErrorCode::kTooLarge,
                   fmt::format("answer has more than {} bytes", read.exchange.max_answer_bytes));
  if (code != CURLE_OK) return transport_failure(code);
  Verdict verdict = judged(*verdict_, body_);
  if (verdict.next != Verdict::Next::kAccept) return refusal(std::move(verdict));
  read.answer = {head_.status, std::move(fields_), std::move(body_)};
  return outcome(Verdict::Next::kAccept, ErrorCode::kIo, "");
}

void HttpTransfer::keep_field(std::string_view line) {
  if (line.starts_with("HTTP/")) return fields_.clear();
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || head_.complete) return;
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && is_blank(value.front())) value.remove_prefix(1);
  while (!value.empty() && is_blank(value.back())) value.remove_suffix(1);
  fields_.push_back({lower_case(line.substr(0, colon)), std::string(value)});
}

std::string_view HttpTransfer::field(std::string_view name) const {
  for (const HttpHeader& one : fields_)
    if (one.name == name) return one.value;
  return {};
}

HttpTransfer::Outcome HttpTransfer::transport_failure(CURLcode code) const {
  const char* said = curl_message_[0] != '\0' ? curl_message_ : curl_easy_strerror(code);
  std::string why = abandoned_.empty() ? fmt::format("{}", said) : abandoned_;
  if (verdict_ && verdict_->length)
    why = fmt::format("answer broke off after {} of {} bytes ({})", received_, *verdict_->length, why);
  else if (verdict_)
    why = fmt::format("answer broke off after {} bytes ({})", received_, why);
  else
    why = fmt::format("no answer ({})", why);
  Verdict::Next next = Verdict::Next::kRetry;
  ErrorCode error = ErrorCode::kIo;
  switch (abandoned_.empty() ? code : CURLE_OPERATION_TIMEDOUT) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
      next = Verdict::Next::kFail;
      error = ErrorCode::kNoAccess;
      break;
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_URL_MALFORMAT:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_NOT_BUILT_IN: next = Verdict::Next::kFail; break;
    case CURLE_OUT_OF_MEMORY:
      next = Verdict::Next::kFail;
      error = ErrorCode::kNoMemory;
      break;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:  // an answer that is not HTTP
    case CURLE_BAD_CONTENT_ENCODING:
      next = Verdict::Next::kRetryBriefly;
      error = ErrorCode::kCorrupt;
      break;
    default: break;
  }
  Outcome out = outcome(next, error, std::move(why));
  out.connection_failed = true;
  return out;
}

}  // namespace penstock
#endif
